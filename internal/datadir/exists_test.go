package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"petcat/internal/openerror"
)

func TestHasDataMakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if has, err := HasData(path); has || err != nil {
		t.Errorf("HasData of nothing = %v, %v", has, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

func TestHasData(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if has, err := HasData(d.path); has || err != nil {
		t.Errorf("HasData of an empty directory = %v, %v", has, err)
	}
	if _, err := d.Database(); err != nil {
		t.Fatal(err)
	}
	if has, err := HasData(d.path); !has || err != nil {
		t.Errorf("HasData = %v, %v; want true", has, err)
	}
}

func TestHasDataOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := HasData(path)
	if _, ok := errors.AsType[*openerror.Error](err); !ok {
		t.Errorf("HasData of a file: %v; want an openerror.Error", err)
	}
}

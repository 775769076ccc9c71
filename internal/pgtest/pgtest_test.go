package pgtest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/pgtest"
)

func ask(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "SELECT 1")
	return err
}

func TestServer(t *testing.T) {
	s := pgtest.New(t, pgtest.Options{})
	url := s.Database(t)
	wantUp := func(what string) {
		t.Helper()
		for _, u := range []string{url, pgtest.ByTCP(url, s.Address())} {
			if err := ask(t.Context(), u); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	wantUp("at first")
	s.Suspend()
	if err := ask(t.Context(), url); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a suspended server: %v", err)
	}
	s.Resume()
	wantUp("resumed")
	for name, end := range map[string]func(){"killed": s.Kill, "stopped": s.Stop} {
		end()
		if err := ask(t.Context(), url); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantUp("after it was " + name)
	}
}

func TestDatabasesAreApart(t *testing.T) {
	s := pgtest.New(t, pgtest.Options{NoSync: true})
	first, second := s.Database(t), s.Database(t)
	s.Execute(t, first, "CREATE TABLE x (y int)")
	s.Execute(t, second, "CREATE TABLE x (y int)")
}

func TestNothingIsLeft(t *testing.T) {
	var dirs []string
	t.Run("a server", func(t *testing.T) {
		s := pgtest.New(t, pgtest.Options{NoSync: true})
		dirs = append(dirs, s.Dir())
	})
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

func TestNamedBinaries(t *testing.T) {
	t.Setenv("PETCAT_TEST_POSTGRES", "")
	installed, err := pgtest.Binaries()
	pgtest.NeedNoError(t, err)
	named := t.TempDir()
	t.Setenv("PETCAT_TEST_POSTGRES", named)
	if got, err := pgtest.Binaries(); err == nil || errors.Is(err, pgtest.ErrNoBinaries) {
		t.Errorf("a folder without programs: %q, %v", got, err)
	}
	if err := os.Symlink(filepath.Join(installed, "initdb"), filepath.Join(named, "initdb")); err != nil {
		t.Fatal(err)
	}
	if got, err := pgtest.Binaries(); got != named || err != nil {
		t.Errorf("a folder with programs: %q, %v; want %q", got, err, named)
	}
}

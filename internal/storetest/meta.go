package storetest

import (
	"errors"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// testMeta: the environment and the name of the data are set once.
func testMeta(t *testing.T, open Open) {
	f := start(t, open)
	undo := errors.New("undo")
	err := f.Change(t.Context(), "read the identity of the data", func(tx *store.Tx) error {
		read := func(env petcat.Environment) store.Meta {
			t.Helper()
			return must(store.ReadMeta(tx, env, noon))
		}
		data := read("")
		wantEqual(t, "the environment", petcat.Production, data.Environment)
		wantEqual(t, "the data of this environment", data, read(petcat.Production))
		if _, err := store.ReadMeta(tx, petcat.Staging, noon); !errors.As(err, new(*petcat.UnusableError)) {
			t.Errorf("data of another environment: %v", err)
		}
		if err := tx.Run(`DELETE FROM meta`); err != nil {
			return err
		}
		fresh := read(petcat.Staging)
		want := store.Meta{Environment: petcat.Staging, Dataset: fresh.Dataset, Created: true}
		wantEqual(t, "fresh data", want, fresh)
		wantEqual(t, "another name", true, fresh.Dataset != data.Dataset)
		fresh.Created = false
		wantEqual(t, "the data later", fresh, read(""))
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
}

package e2e

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"testing"
)

// TestCreatedStaysCreated: what was answered is there after an orderly restart
// and after a kill, and ids go on where they were.
func TestCreatedStaysCreated(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	known := newLedger()
	create := func(name string) {
		t.Helper()
		known.send(name)
		known.acknowledge(category{s.mustCreate(key, name), name})
	}
	create("dog")
	s.mustStop()
	s = serve(t, data)
	create("cat")
	s.kill()
	s = serve(t, data)
	create("cow")
	known.check(s.categories(key))
	if v := known.verdict(); v != (verdict{}) {
		t.Error(v)
	}
}

// TestIdempotencyKeySurvivesAKill: a repetition after a kill finds what the
// first one did.
func TestIdempotencyKeySurvivesAKill(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	first := s.create(key, "dog", withHeader("Idempotency-Key", "k1"))
	wantStatus(t, first, http.StatusCreated)
	s.kill()
	s = serve(t, data)
	again := s.create(key, "dog", withHeader("Idempotency-Key", "k1"))
	wantStatus(t, again, http.StatusCreated)
	if string(again.body) != string(first.body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repetition was answered with %s, the first one with %s", again.body, first.body)
	}
	if got := s.categories(key); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
}

// TestLossWouldBeSeen takes categories away behind the server's back: the means
// by which these tests look for losses must find them.
func TestLossWouldBeSeen(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	known := newLedger()
	for _, name := range []string{"dog", "cat", "cow"} {
		known.send(name)
		known.acknowledge(category{s.mustCreate(key, name), name})
	}
	s.mustStop()
	db, err := sql.Open("sqlite", filepath.Join(data, "petcat.db"))
	must(t, err)
	for _, statement := range []string{"DELETE FROM category WHERE id >= 2", "UPDATE counter SET category_id = 1"} {
		_, err = db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	must(t, db.Close())
	s = serve(t, data)
	known.check(s.categories(key))
	if v := known.verdict(); v != (verdict{Lost: 2}) {
		t.Errorf("two categories are lost; found %s", v)
	}
	known.send("emu")
	known.acknowledge(category{s.mustCreate(key, "emu"), "emu"})
	if v := known.verdict(); v.Reused != 1 {
		t.Errorf("an id was reused; found %s", v)
	}
}

package sqlite

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// processes are a server and a command on the same file.
type processes struct {
	server, command *stored

	passedOn [][]petcat.RevisedCategory // to the server's list, one element for each call
}

func startProcesses(t *testing.T) *processes {
	t.Helper()
	dir := t.TempDir()
	p := &processes{server: openAt(t, dir, Options{Serving: true})}
	closeAtEnd(t, p.server.DB)
	p.server.OnCategoriesCommitted(func(changed []petcat.RevisedCategory) { p.passedOn = append(p.passedOn, changed) })
	p.command = openAt(t, dir, Options{})
	closeAtEnd(t, p.command.DB)
	return p
}

func (p *processes) catchUp(t *testing.T) {
	t.Helper()
	if err := p.server.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantPassedOn checks the calls since the last check.
func (p *processes) wantPassedOn(t *testing.T, want ...[]petcat.RevisedCategory) {
	t.Helper()
	if diff := cmp.Diff(want, p.passedOn); diff != "" {
		t.Fatalf("changes that the list got (-want +got):\n%s", diff)
	}
	p.passedOn = nil
}

// named returns a category of account 1 as of a revision.
func named(id petcat.CategoryID, name string, revision petcat.Revision) petcat.RevisedCategory {
	return petcat.RevisedCategory{
		Category: petcat.Category{ID: id, Name: name},
		Revision: revision,
		Account:  1,
	}
}

// TestCatchUp: the server's list gets the changes of another process, once and in order.
func TestCatchUp(t *testing.T) {
	p := startProcesses(t)
	create(t, p.command, "Dogs")
	create(t, p.command, "Cats")
	p.wantPassedOn(t)
	p.catchUp(t)
	p.wantPassedOn(t, []petcat.RevisedCategory{named(1, "Dogs", 1), named(2, "Cats", 2)})
	p.catchUp(t)
	p.wantPassedOn(t)
	if err := p.command.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: 1}); err != nil {
		t.Fatal(err)
	}
	p.catchUp(t)
	deleted := petcat.RevisedCategory{Category: petcat.Category{ID: 1}, Revision: 3, Account: 1, Deleted: true}
	p.wantPassedOn(t, []petcat.RevisedCategory{deleted})
}

// TestCatchUpBeforeWrite: a write of the server is passed on after earlier changes of another process.
func TestCatchUpBeforeWrite(t *testing.T) {
	p := startProcesses(t)
	create(t, p.server, "Dogs")
	p.wantPassedOn(t, []petcat.RevisedCategory{named(1, "Dogs", 1)})
	create(t, p.command, "Cats")
	create(t, p.server, "Birds")
	p.wantPassedOn(t, []petcat.RevisedCategory{named(2, "Cats", 2), named(3, "Birds", 3)})
	p.catchUp(t)
	p.wantPassedOn(t)
}

// TestCatchUpAfterRollback: changes of another process that a transaction read before it was rolled
// back are read again.
func TestCatchUpAfterRollback(t *testing.T) {
	p := startProcesses(t)
	create(t, p.command, "Dogs")
	wrong := errors.New("wrong")
	if err := p.server.Change(t.Context(), "change", func(*store.Tx) error { return wrong }); !errors.Is(err, wrong) {
		t.Fatal(err)
	}
	p.wantPassedOn(t)
	p.catchUp(t)
	p.wantPassedOn(t, []petcat.RevisedCategory{named(1, "Dogs", 1)})
}

// TestCatchUpOfOtherChanges: account changes by another process are not passed on.
func TestCatchUpOfOtherChanges(t *testing.T) {
	p := startProcesses(t)
	create(t, p.server, "Dogs")
	p.wantPassedOn(t, []petcat.RevisedCategory{named(1, "Dogs", 1)})
	plan, err := petcat.ParseSubscription("free", petcat.Quota{}, petcat.Storage{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.command.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{
		Name:         "zoo",
		Subscription: plan,
	}); err != nil {
		t.Fatal(err)
	}
	p.catchUp(t)
	p.wantPassedOn(t)
}

// TestChangesBeforeTheListIsLoaded: changes between the opening of the file and the loading of the
// list are passed on, because the list may lack them.
func TestChangesBeforeTheListIsLoaded(t *testing.T) {
	dir := t.TempDir()
	server, command := openAt(t, dir, Options{Serving: true}), openAt(t, dir, Options{})
	closeAtEnd(t, server.DB)
	closeAtEnd(t, command.DB)
	create(t, command, "Dogs")
	if err := server.MarkKilledNodes(t.Context(), 0); err != nil { // a write without a list
		t.Fatal(err)
	}
	p := &processes{server: server}
	server.OnCategoriesCommitted(func(changed []petcat.RevisedCategory) { p.passedOn = append(p.passedOn, changed) })
	p.catchUp(t)
	p.wantPassedOn(t, []petcat.RevisedCategory{named(1, "Dogs", 1)})
}

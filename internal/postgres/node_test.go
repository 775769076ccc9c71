package postgres

import (
	"slices"
	"testing"
	"time"

	"petcat"
	"petcat/internal/pgtest"
)

func TestBeat(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	beat := func(node string) (all []petcat.Node) {
		t.Helper()
		all, err := s.Beat(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	wantNodes := func(what string, got []petcat.Node, want ...string) {
		t.Helper()
		var ids []string
		for _, n := range got {
			ids = append(ids, n.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	wantNodes("the first node", beat("a"), "a")
	wantNodes("the second", beat("b"), "a", "b")

	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, `UPDATE nodes SET joined_at = joined_at - interval '1 hour', seen_at = seen_at - interval '20 seconds'`)
	all := beat("b")
	wantNodes("a node without beats", all, "b")
	if len(all) == 1 && (all[0].Joined < time.Hour || all[0].Seen > time.Hour) {
		t.Errorf("the node is %+v, want one that joined an hour ago", all[0])
	}
	wantNodes("its next beat", beat("a"), "a", "b")

	for _, by := range []string{"- interval '1 hour'", "+ interval '1 hour'"} { // the database's clock is set
		pgtest.Execute(t, conn, `UPDATE nodes SET seen_at = seen_at `+by)
		beat("b")
		wantNodes("after the clock was set", beat("b"), "b")
	}
	if err := s.Leave(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	wantNodes("after a node left", beat("c"), "c")
}

package storetest

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testRunningNodes(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	beat := func(s *store.Store, id, label, state string) []petcat.Node {
		t.Helper()
		return must(s.Heartbeat(t.Context(), petcat.Node{
			ID:         id,
			Label:      label,
			Version:    "1.2.3",
			Host:       "h",
			AdminURL:   "http://a",
			ConsoleURL: "https://c",
			PublicURL:  "https://p",
			State:      state,
		}))
	}
	want := func(what string, got []petcat.Node, labels ...string) {
		t.Helper()
		var have []string
		for _, n := range got {
			have = append(have, n.Label)
		}
		wantEqual(t, what, labels, have)
	}
	// age makes the row of a node older.
	age := func(id string, by time.Duration) {
		t.Helper()
		const older = `UPDATE nodes SET seen_at = seen_at - $1, since_at = since_at - $1 WHERE id = $2`
		f.run(t, older, by.Milliseconds(), id)
	}
	want("the first node", beat(f.Store, "a", "web", "starting"), "web")
	want("another node", beat(other, "b", "db", "ready"), "db", "web")
	want("two nodes with the same label", beat(other, "c", "web", "ready"), "db", "web", "web-2")
	want("its next beat", beat(other, "c", "web", "ready"), "db", "web", "web-2")

	age("a", 10*time.Second)
	before := beat(f.Store, "a", "web", "starting")[1]
	after := beat(f.Store, "a", "web", "ready")[1]
	wantEqual(t, "the version", "1.2.3", after.Version)
	places := []string{after.Host, after.AdminURL, after.ConsoleURL, after.PublicURL}
	wantEqual(t, "host and URLs", []string{"h", "http://a", "https://c", "https://p"}, places)
	wantEqual(t, "the state", "ready", after.State)
	if d := after.Since.Sub(before.Since); d < 10*time.Second {
		t.Errorf("the state changed after %s, want at least 10 s", d)
	}
	wantEqual(t, "the time of the same state", after.Since, beat(f.Store, "a", "web", "ready")[1].Since)

	_, err := f.DrainNode(t.Context(), petcat.By(operator), "nobody", true)
	wantCode(t, err, petcat.CodeNotFound)
	for _, drained := range []bool{true, true, false} {
		beat(other, "b", "db", "ready") // else its row may be too old on a slow machine
		n := must(f.DrainNode(t.Context(), petcat.By(operator), "web", drained)).Value
		wantEqual(t, "the result", drained, n.Drained)
		wantEqual(t, "drained", drained, beat(f.Store, "a", "web", "ready")[1].Drained)
	}
	entries := f.audit(t)
	wantEqual(t, "audit entries", 2, len(entries))
	wantEqual(t, "the last entry", "node.resume node web", entries[1].Action+" "+entries[1].Subject)

	beat(other, "c", "web", "ready")
	by := petcat.Author{Actor: operator, Key: "k", Request: "web"}
	must(f.DrainNode(t.Context(), by, "web", true))
	age("a", 20*time.Second) // killed
	retry := must(f.DrainNode(t.Context(), by, "web", true))
	drained := petcat.Result[petcat.Node]{Value: petcat.Node{Label: "web", Drained: true}, Replayed: true}
	wantEqual(t, "the retry after it stopped", drained, retry)
	all := must(other.Nodes(t.Context()))
	want("running nodes", all, "db", "web-2")
	want("after the label became free", beat(other, "c", "web", "ready"), "db", "web")
	want("after a pause", beat(f.Store, "a", "web", "ready"), "db", "web", "web-2")
	if err := f.RemoveNode(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	want("after a node left", beat(f.Store, "a", "web", "ready"), "db", "web")
	age("b", -time.Hour) // the database's clock was set back
	want("a row from the future", beat(f.Store, "a", "web", "ready"), "web")
	want("its next beat", beat(other, "b", "db", "ready"), "db", "web")
}

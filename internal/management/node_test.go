package management_test

import (
	"testing"

	"github.com/petcat-api/petcat"
)

// node is a node as the API shows it.
type node struct {
	Label   string
	State   string
	Drained bool
}

// addNode adds a running node with the label web-1.
func (s *service) addNode() {
	s.t.Helper()
	_, err := s.store.Heartbeat(s.t.Context(), petcat.Node{
		ID:      "n",
		Label:   "web-1",
		Version: "1.0.0",
		State:   "ready",
		Since:   noon,
	})
	must(s.t, err)
}

func TestDrainNode(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.addNode()
	for _, c := range []struct {
		action  string
		drained bool
	}{
		{"drain", true},
		{"resume", false},
	} {
		changed := decode[node](t, s.post("/nodes/web-1/"+c.action, ""))
		wantEqual(t, c.action, node{Label: "web-1", Drained: c.drained}, changed)
		want := []node{{Label: "web-1", State: "ready", Drained: c.drained}}
		wantEqual(t, "the nodes", want, decode[[]node](t, s.get("/nodes")))
	}
	s.rejected(404, "not_found", "POST", "/nodes/web-2/drain", "")
}

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"petcat"
)

// TestDrainedNode: an operator takes a node out of rotation, and brings it back. Its label is
// in the log and the metrics.
func TestDrainedNode(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), &log)
	o.Settings.NodeName = "web"
	n := must(Start(t.Context(), o))
	for _, c := range []struct {
		drained bool
		state   string
	}{{true, "drained"}, {false, "ready"}} {
		if err := n.backend.DrainNode(t.Context(), "test", "web", c.drained); err != nil {
			t.Fatal(err)
		}
		n.membership.beat(t.Context())
		if r, ready := n.readiness(); r.Status != c.state || ready == c.drained {
			t.Errorf("drained %t: %+v, ready %t", c.drained, r, ready)
		}
		nodes := must(n.backend.Nodes(t.Context()))
		if len(nodes) != 1 || nodes[0].State != c.state || nodes[0].Label != "web" || nodes[0].Version != "test" {
			t.Errorf("drained %t: the nodes are %+v", c.drained, nodes)
		}
	}
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	o.Log.Flush()
	if !strings.Contains(log.String(), `msg="node drained or resumed" drained=true node=web`) {
		t.Errorf("the log says: %s", log.String())
	}
}

// shared is a database in which another node may have the wished label.
type shared struct {
	petcat.NodeStore

	label string
}

func (s *shared) Beat(_ context.Context, n petcat.Node) ([]petcat.Node, error) {
	n.Label = s.label
	return []petcat.Node{n, {ID: "another"}}, nil
}

type told []string

func (l *told) SetNode(label string) { *l = append(*l, label) }

// TestLabelChanges: the label is another one for as long as another node has it.
func TestLabelChanges(t *testing.T) {
	s, labels := &shared{label: "web-2"}, &told{}
	m := newMembership(petcat.Node{ID: "a", Label: "web"}, s, func() string { return "ready" }, slog.New(slog.DiscardHandler), labels)
	m.beat(t.Context())
	s.label = "web"
	m.beat(t.Context())
	m.beat(t.Context())
	if got, _ := json.Marshal(labels); string(got) != `["web","web-2","web"]` {
		t.Errorf("the labels are %s", got)
	}
}

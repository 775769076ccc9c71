package management

import (
	"context"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

// NodeStore is the part of [petcat.NodeStore] that the API calls.
type NodeStore interface {
	Nodes(ctx context.Context) ([]petcat.Node, error)
	DrainNode(
		ctx context.Context, by petcat.Author, label string, drained bool,
	) (petcat.Result[petcat.Node], error)
}

// listNodes handles GET /nodes.
func (a *API) listNodes(c *call) error {
	nodes, err := a.Store.Nodes(c.ctx())
	if err != nil {
		return err
	}
	return okAll(c, nodes)
}

// drainNode handles POST /nodes/{label}/drain.
func (a *API) drainNode(c *call) error { return a.setDrained(c, true) }

// resumeNode handles POST /nodes/{label}/resume.
func (a *API) resumeNode(c *call) error { return a.setDrained(c, false) }

// setDrained drains or resumes the node in the path.
func (a *API) setDrained(c *call, drained bool) error {
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	changed, err := a.Store.DrainNode(c.ctx(), by, c.r.PathValue("label"), drained)
	if err != nil {
		return err
	}
	c.replayed(changed.Replayed)
	return c.ok(representation.Record{
		representation.KV("label", changed.Value.Label),
		representation.KV("drained", changed.Value.Drained),
	})
}

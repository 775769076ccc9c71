package console

import (
	"slices"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/pages"
)

// nodesView has all nodes.
type nodesView struct {
	Nodes []petcat.Node
	Self  string // the id of this node
}

func (c *Console) nodes(x *pages.Exchange) error {
	return x.Render("nodes", pages.View{
		Title:   "Nodes",
		Section: "nodes",
		Data: nodesView{
			Nodes: c.currentNodes(),
			Self:  c.Node,
		},
	})
}

// currentNodes returns the nodes with their current states. The states of other nodes come from the
// store: while it fails, they are unknown.
func (c *Console) currentNodes() []petcat.Node {
	nodes := slices.Clone(c.Nodes())
	hasProblem := func(part Part) bool { return part.Name == "store" && part.Problem != "" }
	blind := slices.ContainsFunc(c.Parts(), hasProblem)
	for i := range nodes {
		switch {
		case nodes[i].ID == c.Node:
			nodes[i].State = c.Status()
		case blind:
			nodes[i].State = "unknown"
		}
	}
	return nodes
}

func (c *Console) drainNode(x *pages.Exchange) error { return c.setDrained(x, true, "drained") }

func (c *Console) resumeNode(x *pages.Exchange) error { return c.setDrained(x, false, "resumed") }

// setDrained drains or resumes the node in the path.
func (c *Console) setDrained(x *pages.Exchange, drained bool, done string) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	changed, err := c.Store.DrainNode(x.R.Context(), by, x.R.PathValue("node"), drained)
	if err != nil {
		return err
	}
	return x.Made("nodes", changed.Replayed, done)
}

// backupsView has the last scheduled backup and the schedule.
type backupsView struct {
	Last     any
	Settings []config.Value
}

func (c *Console) backups(x *pages.Exchange) error {
	last, err := c.LastBackup(x.R.Context())
	if err != nil {
		return err
	}
	v := backupsView{Last: last}
	for _, s := range c.Settings {
		if strings.HasPrefix(s.Flag, "--backup") {
			v.Settings = append(v.Settings, s)
		}
	}
	return x.Render("backups", pages.View{
		Title:   "Backups",
		Section: "backups",
		Data:    v,
	})
}

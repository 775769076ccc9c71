package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"petcat"
)

const (
	// nodeNoted is how old a node's row may be before the node writes it again, and
	// nodeSilence how old it may be before the node counts as gone. Both by the database's
	// clock.
	nodeNoted   = 5 * time.Second
	nodeSilence = 15 * time.Second
)

// nodeRow is a node with what only the store needs.
type nodeRow struct {
	petcat.Node

	age time.Duration // since its last beat, by the database's clock
}

// running returns the nodes that are not gone. After a step of the clock back, the row is
// from the future: then it counts until the node writes again, or for as long.
func running(rows []nodeRow) (nodes []petcat.Node) {
	for _, r := range rows {
		if r.age.Abs() <= nodeSilence {
			nodes = append(nodes, r.Node)
		}
	}
	return nodes
}

func nodeRows(c Conn, d Dialect) ([]nodeRow, error) {
	query := `SELECT id, label, version, state, since_at, drained, ` + d.Now + ` - seen_at FROM nodes ORDER BY label`
	return all(c, func(r *nodeRow) []any {
		return []any{&r.ID, &r.Label, &r.Version, &r.State, (*moment)(&r.Since), &r.Drained, (*span)(&r.age)}
	}, query)
}

// RunningNodes reads the running nodes by their labels.
func RunningNodes(c Conn, d Dialect) ([]petcat.Node, error) {
	rows, err := nodeRows(c, d)
	return running(rows), err
}

// Nodes implements [petcat.NodeStore].
func (s *Store) Nodes(ctx context.Context) (nodes []petcat.Node, err error) {
	err = s.db.Read(ctx, "read the nodes", func(c Conn) error {
		nodes, err = RunningNodes(c, s.dialect)
		return err
	})
	return nodes, err
}

// Beat implements [petcat.NodeStore]. It writes only when something is due.
func (s *Store) Beat(ctx context.Context, n petcat.Node) (nodes []petcat.Node, err error) {
	err = s.db.Write(ctx, "record that this node runs", func(c Conn) error {
		rows, err := nodeRows(c, s.dialect)
		if err != nil {
			return err
		}
		changed, err := s.beat(c, n, rows)
		if err == nil && changed {
			rows, err = nodeRows(c, s.dialect)
		}
		nodes = running(rows)
		return err
	})
	if err != nil {
		return nil, err // the transaction may still run, and write to nodes
	}
	return nodes, nil
}

// beat writes what is due: it removes nodes that are gone, and adds or updates n.
func (s *Store) beat(c Conn, n petcat.Node, rows []nodeRow) (changed bool, err error) {
	forget := `DELETE FROM nodes WHERE id = ? AND abs(` + s.dialect.Now + ` - seen_at) > ?`
	insert := `INSERT INTO nodes (id, label, version, state, since_at, drained, seen_at) VALUES (?, ?, ?, ?, ` + s.dialect.Now + `, ?, ` + s.dialect.Now + `) ON CONFLICT DO NOTHING`
	update := `UPDATE nodes SET label = ?, since_at = CASE state WHEN ? THEN since_at ELSE ` + s.dialect.Now + ` END, state = ?, seen_at = ` + s.dialect.Now + ` WHERE id = ?`
	free := true // the wished label is
	var self *nodeRow
	for _, r := range rows {
		switch {
		case r.ID == n.ID:
			self = &r
		case r.age.Abs() > nodeSilence:
			if _, err := c.Exec(forget, r.ID, nodeSilence.Milliseconds()); err != nil {
				return false, err
			}
			changed = true
		case r.Label == n.Label:
			free = false
		}
	}
	if self != nil {
		label := self.Label
		if free {
			label = n.Label
		}
		if label == self.Label && n.State == self.State && self.age.Abs() < nodeNoted {
			return changed, nil
		}
		_, err := c.Exec(update, label, n.State, n.State, n.ID)
		return true, err
	}
	label := n.Label
	for next := 2; ; next++ {
		added, err := c.Exec(insert, n.ID, label, n.Version, n.State, n.Drained)
		if err != nil || added > 0 {
			return true, err
		}
		label = fmt.Sprintf("%s-%d", n.Label, next)
	}
}

// Leave implements [petcat.NodeStore].
func (s *Store) Leave(ctx context.Context, id string) error {
	_, err := s.Exec(ctx, "leave the nodes", `DELETE FROM nodes WHERE id = ?`, id)
	return err
}

// labelled is the subject of audit entries about a node.
type labelled string

func (l labelled) String() string { return "node " + string(l) }

// DrainNode implements [petcat.NodeStore].
func (s *Store) DrainNode(ctx context.Context, by petcat.Actor, label string, drained bool) error {
	const update = `UPDATE nodes SET drained = ? WHERE id = ?`
	action := "node.resume"
	if drained {
		action = "node.drain"
	}
	return s.Change(ctx, "drain a node", func(t *Tx) error {
		nodes, err := RunningNodes(t, s.dialect)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(nodes, func(n petcat.Node) bool { return n.Label == label })
		if i < 0 {
			return notFound("no running node is called %q", label)
		}
		if nodes[i].Drained == drained {
			return nil
		}
		if err := t.exec(update, drained, nodes[i].ID); err != nil {
			return err
		}
		return t.record(by, action, labelled(label), nil)
	})
}

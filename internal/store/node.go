package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"petcat"
)

const (
	// nodeNoted is the age at which a node renews its row, nodeSilence the age at which the
	// node counts as stopped, both by the database's clock. If that clock is set back, rows
	// are from the future. The age is then the difference, too.
	nodeNoted   = 5 * time.Second
	nodeSilence = 15 * time.Second
)

// age is an expression for the age of a node's row, in milliseconds.
func (d Dialect) age() string { return `abs(` + d.Now + ` - seen_at)` }

// RunningNodes returns the running nodes by label.
func RunningNodes(c Conn, d Dialect) ([]petcat.Node, error) {
	return all(c, nodeInto, runningNodes+d.age()+` <= ? ORDER BY label`, nodeSilence.Milliseconds())
}

const runningNodes = `SELECT id, label, version, host, admin_url, console_url, public_url, state, since_at, drained FROM nodes WHERE `

func nodeInto(n *petcat.Node) []any {
	return []any{&n.ID, &n.Label, &n.Version, &n.Host, &n.AdminURL, &n.ConsoleURL, &n.PublicURL, &n.State, (*moment)(&n.Since), &n.Drained}
}

// Nodes implements [petcat.NodeStore].
func (s *Store) Nodes(ctx context.Context) ([]petcat.Node, error) {
	return read(ctx, s, "read the nodes", func(c Conn) ([]petcat.Node, error) { return RunningNodes(c, s.dialect) })
}

// Heartbeat implements [petcat.NodeStore]. It writes a row only if it must change or be renewed.
func (s *Store) Heartbeat(ctx context.Context, n petcat.Node) ([]petcat.Node, error) {
	return write(ctx, s, "record a heartbeat", func(c Conn) ([]petcat.Node, error) {
		now, age := s.dialect.Now, s.dialect.age()
		forget := `DELETE FROM nodes WHERE id <> ? AND ` + age + ` > ?`
		update := `UPDATE nodes SET since_at = CASE state WHEN ? THEN since_at ELSE ` + now + ` END, state = ?, seen_at = ` + now + ` WHERE id = ? AND (state <> ? OR ` + age + ` >= ?)`
		rename := `UPDATE nodes SET label = ? WHERE id = ? AND NOT EXISTS (SELECT 1 FROM nodes WHERE label = ?)`
		insert := `INSERT INTO nodes (id, label, version, host, admin_url, console_url, public_url, state, since_at, drained, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ` + now + `, ?, ` + now + `) ON CONFLICT DO NOTHING`
		err := c.Run(forget, n.ID, nodeSilence.Milliseconds())
		if err == nil { // an error may have ended the transaction
			err = c.Run(update, n.State, n.State, n.ID, n.State, nodeNoted.Milliseconds())
		}
		if err == nil {
			err = c.Run(rename, n.Label, n.ID, n.Label)
		}
		if err != nil {
			return nil, err
		}
		nodes, err := RunningNodes(c, s.dialect)
		if err != nil || slices.ContainsFunc(nodes, func(other petcat.Node) bool { return other.ID == n.ID }) {
			return nodes, err
		}
		for label, next := n.Label, 2; ; next++ {
			added, err := c.Exec(insert, n.ID, label, n.Version, n.Host, n.AdminURL, n.ConsoleURL, n.PublicURL, n.State, n.Drained)
			if err != nil {
				return nil, err
			}
			if added > 0 {
				return RunningNodes(c, s.dialect)
			}
			label = fmt.Sprintf("%s-%d", n.Label, next)
		}
	})
}

// RemoveNode implements [petcat.NodeStore].
func (s *Store) RemoveNode(ctx context.Context, id string) error {
	return s.exec(ctx, "delete a node", `DELETE FROM nodes WHERE id = ?`, id)
}

// DrainNode implements [petcat.NodeStore].
func (s *Store) DrainNode(ctx context.Context, by petcat.Actor, label string, drained bool) error {
	action := map[bool]string{true: "node.drain", false: "node.resume"}[drained]
	return s.Change(ctx, "drain a node", func(t *Tx) error {
		n, err := one(t, nodeInto, notFound("there is no running node %q", label), runningNodes+`label = ? AND `+s.dialect.age()+` <= ?`, label, nodeSilence.Milliseconds())
		if err != nil || n.Drained == drained {
			return err
		}
		return t.write(entry{by, action, "node " + label, nil}, `UPDATE nodes SET drained = ? WHERE id = ?`, drained, n.ID)
	})
}

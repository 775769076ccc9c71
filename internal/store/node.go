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

func scanNode(row Row) (n petcat.Node, err error) {
	err = row.Scan(
		&n.ID,
		&n.Label,
		&n.Version,
		&n.Host,
		&n.AdminURL,
		&n.ConsoleURL,
		&n.PublicURL,
		&n.State,
		(*moment)(&n.Since),
		&n.Drained,
	)
	return n, err
}

// runningNode returns the running node with a label.
func runningNode(c Conn, d Dialect, label string) (petcat.Node, error) {
	missing := notFound("there is no running node %q", label)
	query := runningNodes + `label = $1 AND ` + d.age() + ` <= $2`
	return queryRow(c, scanNode, missing, query, label, nodeSilence.Milliseconds())
}

// nodeID is stored with an idempotency key, because the ids of nodes are texts. The request contains
// the label.
const nodeID = 1

const drainNode = `UPDATE nodes SET drained = $1 WHERE id = $2`

// DrainNode implements [petcat.NodeStore].
func (s *Store) DrainNode(
	ctx context.Context, by petcat.Author, label string, drained bool,
) (r petcat.Result[petcat.Node], err error) {
	action := "node.resume"
	if drained {
		action = "node.drain"
	}
	tx, err := s.begin(ctx, Work{Doing: "drain a node"})
	if err != nil {
		return r, err
	}
	defer tx.Rollback()
	id, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	n, err := runningNode(tx, s.dialect, label)
	if err != nil {
		return r, err
	}
	if id != 0 {
		return petcat.Result[petcat.Node]{Value: n, Replayed: true}, tx.Commit()
	}
	if n.Drained != drained {
		n.Drained = drained
		if err := tx.run(drainNode, n.Drained, n.ID); err != nil {
			return r, err
		}
		if err := tx.log(by.Actor, action, "node "+label, nil); err != nil {
			return r, err
		}
	}
	return petcat.Result[petcat.Node]{Value: n}, tx.commitOnce(by, action, nodeID)
}

package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/petcat-api/petcat"
)

const (
	// nodeNoted is the age at which a node renews its row, nodeSilence the age at which the
	// node counts as stopped, both by the database's clock. If that clock is set back, rows
	// are from the future. The age is then the absolute difference.
	nodeNoted   = 5 * time.Second
	nodeSilence = 15 * time.Second
)

// nodeColumns are the columns that scanNode reads.
const nodeColumns = `id, label, version, host, admin_url, console_url, public_url, state, since_at, drained`

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

const selectRunningNodes = `
	SELECT ` + nodeColumns + ` FROM nodes
	WHERE abs(unixepoch('subsec') * 1000 - seen_at) <= $1
	ORDER BY label`

// RunningNodes returns the running nodes by label.
func RunningNodes(q Querier) ([]petcat.Node, error) {
	return queryRows(q, scanNode, selectRunningNodes, nodeSilence.Milliseconds())
}

// Nodes implements [petcat.NodeStore].
func (s *Store) Nodes(ctx context.Context) ([]petcat.Node, error) {
	return RunningNodes(s.reader(ctx, "read the nodes"))
}

const (
	deleteStoppedNodes = `
		DELETE FROM nodes
		WHERE id <> $1 AND abs(unixepoch('subsec') * 1000 - seen_at) > $2`

	// renewNode writes only if the state has changed or the row has the age $3.
	renewNode = `
		UPDATE nodes SET
			since_at = CASE WHEN state = $1 THEN since_at ELSE CAST(unixepoch('subsec') * 1000 AS bigint) END,
			state = $1,
			seen_at = CAST(unixepoch('subsec') * 1000 AS bigint)
		WHERE id = $2 AND (state <> $1 OR abs(unixepoch('subsec') * 1000 - seen_at) >= $3)`

	// renameNode gives a node its preferred label once it is free.
	renameNode = `
		UPDATE nodes SET label = $1
		WHERE id = $2 AND NOT EXISTS (SELECT 1 FROM nodes WHERE label = $1)`
)

// Heartbeat implements [petcat.NodeStore]. It writes a row only if it must change or be renewed.
func (s *Store) Heartbeat(ctx context.Context, n petcat.Node) (_ []petcat.Node, err error) {
	w, err := s.db.BeginWrite(ctx, "record a heartbeat")
	if err != nil {
		return nil, err
	}
	defer w.End(&err)
	if err := w.Run(deleteStoppedNodes, n.ID, nodeSilence.Milliseconds()); err != nil {
		return nil, err
	}
	if err := w.Run(renewNode, n.State, n.ID, nodeNoted.Milliseconds()); err != nil {
		return nil, err
	}
	if err := w.Run(renameNode, n.Label, n.ID); err != nil {
		return nil, err
	}
	nodes, err := RunningNodes(w)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(nodes, func(other petcat.Node) bool { return other.ID == n.ID }) {
		if err := addNode(w, n); err != nil {
			return nil, err
		}
		if nodes, err = RunningNodes(w); err != nil {
			return nil, err
		}
	}
	return nodes, w.Commit()
}

const insertNode = `
	INSERT INTO nodes (id, label, version, host, admin_url, console_url, public_url, state, since_at, drained, seen_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
		CAST(unixepoch('subsec') * 1000 AS bigint), $9, CAST(unixepoch('subsec') * 1000 AS bigint))
	ON CONFLICT DO NOTHING`

// addNode inserts a new node, with the suffix -2, -3 and so on if another one has its label.
func addNode(c Conn, n petcat.Node) error {
	label := n.Label
	for next := 2; ; next++ {
		added, err := c.Exec(insertNode,
			n.ID,
			label,
			n.Version,
			n.Host,
			n.AdminURL,
			n.ConsoleURL,
			n.PublicURL,
			n.State,
			n.Drained,
		)
		if err != nil || added > 0 {
			return err
		}
		label = fmt.Sprintf("%s-%d", n.Label, next)
	}
}

const deleteNode = `DELETE FROM nodes WHERE id = $1`

// RemoveNode implements [petcat.NodeStore].
func (s *Store) RemoveNode(ctx context.Context, id string) error {
	return s.exec(ctx, "delete a node", deleteNode, id)
}

const selectRunningNode = `
	SELECT ` + nodeColumns + ` FROM nodes
	WHERE label = $1 AND abs(unixepoch('subsec') * 1000 - seen_at) <= $2`

// runningNode returns the running node with a label.
func runningNode(q Querier, label string) (petcat.Node, error) {
	missing := notFound("there is no running node %q", label)
	return queryRow(q, scanNode, missing, selectRunningNode, label, nodeSilence.Milliseconds())
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
	defer tx.End(&err)
	id, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	n, err := runningNode(tx, label)
	if id != 0 && petcat.CodeOf(err) == petcat.CodeNotFound { // it has stopped since
		n, err = petcat.Node{Label: label, Drained: drained}, nil
	}
	if err != nil {
		return r, err
	}
	if id != 0 {
		return petcat.Result[petcat.Node]{Value: n, Replayed: true}, tx.Commit()
	}
	if n.Drained != drained {
		n.Drained = drained
		if err := tx.Run(drainNode, n.Drained, n.ID); err != nil {
			return r, err
		}
		if err := tx.log(by.Actor, action, "node "+label, nil); err != nil {
			return r, err
		}
	}
	return petcat.Result[petcat.Node]{Value: n}, tx.commitOnce(by, action, nodeID)
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/store"
)

// Beat records that a node serves. It returns all nodes with a beat in the last ten seconds,
// in the order of their ids. The moments are the database's.
func (s *Store) Beat(ctx context.Context, node string) (all []petcat.Node, err error) {
	const beat = `INSERT INTO nodes (id, joined_at, seen_at) VALUES ($1, clock_timestamp(), clock_timestamp())
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`
	// It waits for no other node that does the same.
	const forget = `DELETE FROM nodes WHERE id IN (SELECT id FROM nodes
		WHERE seen_at NOT BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() + interval '1 minute' FOR UPDATE SKIP LOCKED)`
	const nodes = `SELECT id, greatest(0, extract(epoch FROM clock_timestamp() - joined_at) * 1000000)::int8,
			greatest(0, extract(epoch FROM clock_timestamp() - seen_at) * 1000000)::int8
		FROM nodes WHERE seen_at > clock_timestamp() - interval '10 seconds' ORDER BY id`
	var batch pgx.Batch
	batch.Queue(s.pool.settings)
	batch.Queue(beat, node)
	batch.Queue(forget)
	batch.Queue(nodes).Query(rowsOf(func(scan store.Scan) error {
		var n petcat.Node
		var joined, seen int64
		err := scan(&n.ID, &joined, &seen)
		n.Joined, n.Seen = time.Duration(joined)*time.Microsecond, time.Duration(seen)*time.Microsecond
		all = append(all, n)
		return err
	}))
	err = s.write(ctx, "record that this node serves", &batch)
	return all, err
}

// Leave records that a node no longer serves.
func (s *Store) Leave(ctx context.Context, node string) error {
	_, err := engine{s}.Exec(ctx, "leave the nodes", `DELETE FROM nodes WHERE id = ?`, node)
	return err
}

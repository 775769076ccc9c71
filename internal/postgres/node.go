package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// NodeBeat is how often a node says that it serves. Who has not said so for five
// beats does not count.
const NodeBeat = 2 * time.Second

// Beat says that a node serves, and returns how many do, this one included. The
// moments are the database's, so the nodes' clocks have no part in it.
func (s *Store) Beat(ctx context.Context, node string) (live int, err error) {
	// The parts of one statement see the table as it was before: the node
	// itself is counted apart.
	const beat = `WITH gone AS (
			DELETE FROM node WHERE id <> $1 AND seen_at < clock_timestamp() - interval '1 minute'
		), beat AS (
			INSERT INTO node (id, seen_at) VALUES ($1, clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
		)
		SELECT 1 + count(*) FROM node WHERE id <> $1 AND seen_at > clock_timestamp() - interval '10 seconds'`
	var batch pgx.Batch
	batch.Queue(settings)
	batch.Queue(beat, node).QueryRow(func(row pgx.Row) error { return row.Scan(&live) })
	err = s.write(ctx, "count the nodes", &batch)
	return live, err
}

// Leave says that a node no longer serves.
func (s *Store) Leave(ctx context.Context, node string) error {
	var batch pgx.Batch
	batch.Queue(settings)
	batch.Queue(`DELETE FROM node WHERE id = $1`, node)
	return s.write(ctx, "leave the nodes", &batch)
}

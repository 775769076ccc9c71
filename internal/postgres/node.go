package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/counters"
	"petcat/internal/store"
)

// Beat says that a node serves, and which partitions of the counters it cannot reach
// (bit p stands for p). It returns all nodes that were seen within ten minutes, itself
// included, in the order of their ids; one that was silent for more than 30 s also as
// the one that it was before. Of two nodes that start at the same time, at
// least one is told of the other. The moments are the database's, so the nodes'
// clocks have no part in it.
func (s *Store) Beat(ctx context.Context, node string, cutOff uint64) ([]counters.Member, error) {
	// The others do not count with a node that was silent for longer than 30 s. It joins
	// anew, and they go on to know when it was there before: it may have admitted its
	// share of this minute until then.
	const part = `UPDATE node SET id = id || ' until ' || seen_at
		WHERE id = $1 AND seen_at < clock_timestamp() - interval '30 seconds'`
	// All join anew when the clock is set back.
	const beat = `INSERT INTO node (id, seen_at, joined_at, cut_off)
		VALUES ($1, clock_timestamp(), clock_timestamp(), $2)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at,
			joined_at = CASE WHEN node.seen_at <= excluded.seen_at THEN node.joined_at ELSE excluded.joined_at END,
			cut_off = excluded.cut_off`
	// It waits for no other node that does the same, or that is back.
	const forget = `DELETE FROM node WHERE id IN (SELECT id FROM node
		WHERE seen_at NOT BETWEEN clock_timestamp() - interval '11 minutes' AND clock_timestamp() + interval '1 minute' FOR UPDATE SKIP LOCKED)`
	var batch pgx.Batch
	batch.Queue(s.pool.settings)
	batch.Queue(part, node)
	batch.Queue(beat, node, int64(cutOff))
	batch.Queue(forget)
	if err := s.write(ctx, "say that this node serves", &batch); err != nil {
		return nil, err
	}
	// It has been committed: whoever is not seen from here on sees this node.
	return s.members(ctx)
}

// members returns the nodes that were seen within ten minutes.
func (s *Store) members(ctx context.Context) (all []counters.Member, err error) {
	// A row may have been written after statement_timestamp: then it is of just now.
	const query = `SELECT id, greatest(0, extract(epoch FROM t.now - joined_at) * 1000000)::int8,
			greatest(0, extract(epoch FROM t.now - seen_at) * 1000000)::int8, cut_off
		FROM node CROSS JOIN (SELECT statement_timestamp()) AS t (now)
		WHERE seen_at > t.now - interval '10 minutes' ORDER BY id`
	err = engine{s}.Read(ctx, "read which nodes serve", func(c store.Conn) error {
		all = nil
		return c.Query(func(scan store.Scan) error {
			var m counters.Member
			var joined, seen, cutOff int64
			err := scan(&m.ID, &joined, &seen, &cutOff)
			m.Joined, m.Seen, m.CutOff = time.Duration(joined)*time.Microsecond, time.Duration(seen)*time.Microsecond, uint64(cutOff)
			all = append(all, m)
			return err
		}, query)
	})
	return all, err
}

// Leave says that a node no longer serves.
func (s *Store) Leave(ctx context.Context, node string) error {
	_, err := engine{s}.Exec(ctx, "leave the nodes", `DELETE FROM node WHERE id = ?`, node)
	return err
}

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

// namedFor is how long after a call without a response a check looks up and names the obstacle. Calls may
// time out between two checks.
const namedFor = 4 * time.Second

// obstacle is the cause for which this node's calls wait on a healthy server.
type obstacle struct {
	name string // standby, or a table name
	at   clock.Reading
}

// standby is the obstacle of commits that wait for a synchronous standby. It is not a table's name.
const standby = "synchronous standby"

// noteWait records the error of a call that timed out.
func (s *DB) noteWait(ctx context.Context, err error) {
	if err != nil && (ctx.Err() != nil || errors.Is(err, errNoResponse) || sqlState(err) == lockTimeout) {
		now := s.clock.Read()
		s.waitedAt.Store(&now)
	}
}

// obstructed returns an error that names the obstacle. It queries the server only after a call that timed out.
func (s *DB) obstructed(ctx context.Context) error {
	now := s.clock.Read()
	if at := s.waitedAt.Load(); at == nil || now.Since(*at) >= namedFor {
		return nil
	}
	const query = `
		SELECT CASE
			WHEN current_setting('synchronous_standby_names') <> '' AND NOT EXISTS (SELECT FROM pg_stat_replication)
				OR EXISTS (
					SELECT FROM pg_stat_activity
					WHERE wait_event = 'SyncRep'
						AND datname = current_database()
						AND query_start < clock_timestamp() - interval '500 ms'
				)
			THEN 'synchronous standby'
			ELSE coalesce((
				SELECT min(c.relname)
				FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
				WHERE NOT l.granted
					AND l.locktype = 'relation'
					AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			), '')
			END`
	var name string
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query).Scan(&name)
	})
	if err == nil && name != "" {
		s.obstacle.Store(&obstacle{name, now})
	}
	last, where := s.obstacle.Load(), place(s.readers.Config().ConnConfig)
	switch {
	case last == nil || now.Since(last.at) >= namedFor:
		return err
	case last.name == standby:
		return petcat.TemporarilyUnusablef(err,
			"commits in the database at %s wait for a synchronous standby; start it, or remove it from synchronous_standby_names", where)
	default:
		return petcat.TemporarilyUnusablef(err,
			"another session holds a lock on the table %s in the database at %s; end it, pg_locks and pg_stat_activity show it", last.name, where)
	}
}

package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/clock"
)

// Check asks the database how it is: whether it answers, whether it takes writes,
// whether it continues what was read of it, and what time it has. What it finds is in Stats.
// Whether a write is also committed in time is found out by Beat, without anybody's requests.
func (s *Store) Check(ctx context.Context) error {
	// True on a standby, too, and without writing.
	const query = `SELECT current_setting('transaction_read_only')::bool, (extract(epoch FROM clock_timestamp()) * 1000000)::int8`
	return translate(s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var readOnly bool
		var micros int64
		asked := s.clock.Read()
		err := conn.QueryRow(ctx, query).Scan(&readOnly, &micros)
		if err != nil {
			return err
		}
		// It looked at its clock at some moment between: the middle is wrong by half of
		// the time between at most.
		middle := asked.Time().Add(s.clock.Read().Since(asked) / 2)
		s.clockAhead.Store(int64(middle.Sub(time.UnixMicro(micros))))
		s.refusal.setReadOnly(readOnly)
		// Behind a pooler, another server may answer on the same connection.
		return s.history.check(ctx, conn.PgConn())
	}), "ask whether writes are taken")
}

// refusal remembers that the database answers, and refuses to write.
type refusal struct {
	clock clock.Clock

	mu       sync.Mutex
	readOnly bool          // guarded by mu
	full     bool          // guarded by mu; its disk was full
	fullAt   clock.Reading // guarded by mu; the last time
}

// fullFor is how long a full disk is believed to be full after the last write that
// found it so. A write that needs no more room, such as a beat, says nothing.
const fullFor = 10 * time.Second

// note is told how a write ended.
func (r *refusal) note(err error) {
	state := sqlState(err)
	if err != nil && state != "25006" && state != "53100" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch state {
	case "25006":
		r.readOnly = true
	case "53100":
		r.full, r.fullAt = true, r.clock.Read()
	default:
		r.readOnly = false
	}
}

func (r *refusal) setReadOnly(readOnly bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readOnly = readOnly
}

// holds reports whether writes are refused.
func (r *refusal) holds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readOnly || r.full && r.clock.Read().Since(r.fullAt) < fullFor
}

// Package usage counts the requests of each account, and writes the counts to the usage
// history: a request takes one lock, which is rarely contended, and once a second all
// counts go to the store as one batch. It also keeps the last refusals of each account.
//
// While the store is unavailable, counts wait in memory: by the minute and, once there are
// many, by the hour, so that at most one count for each key and hour is added. A batch whose
// outcome is unknown is sent again unchanged, and counts once. A killed process loses the
// counts that it had not written: usually those of its last second.
package usage

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
)

const (
	// Interval is how often the counts are written.
	Interval = time.Second
	// beat is how often a node without requests writes, so that it does not count as
	// killed.
	beat = 30 * time.Second
	// addTimeout bounds one attempt.
	addTimeout = 5 * time.Second
	// batchCounts is how many counts go into one batch: some 200 KB.
	batchCounts = 20_000
	// shards is how many locks there are. If a shard has coarseAt counts or more, new
	// ones are by the hour.
	shards   = 64
	coarseAt = 4_096
)

// Request is one request to be counted.
type Request struct {
	At       time.Time
	Account  petcat.AccountID // 0: of no account
	Key      petcat.KeyID
	Admitted bool
	Status   int
	Code     petcat.Code
	Bytes    int64 // of the answer's body
}

// Options says how a Recorder works.
type Options struct {
	Node   string // names this process
	Clock  clock.Clock
	Logger *slog.Logger
}

// Store keeps what a Recorder writes.
type Store interface {
	AddUsage(ctx context.Context, b petcat.UsageBatch) error
	AddRefusals(ctx context.Context, refusals []petcat.AccountRefusals) error
}

// Recorder counts. It is safe for concurrent use.
type Recorder struct {
	Options

	shards   [shards]shard
	refusals refusals

	// Of Flush, Close and their caller, one at a time:
	store   Store
	taken   counts              // the memory of what was taken last
	pending []petcat.UsageBatch // to be written, in this order
	number  int64               // of the last batch
	until   time.Time           // of the last batch that was written
	wrote   int64               // when that was, as clock.Reading.Mono
	failing bool                // the last attempt failed

	saved atomic.Int64 // until when everything is written, as clock.Reading.Mono
}

// New returns a recorder that counts. It writes when Flush is called.
func New(o Options) *Recorder {
	now := o.Clock.Read()
	r := &Recorder{Options: o, taken: newCounts(), until: now.Time()}
	for i := range r.shards {
		r.shards[i].counts = newCounts()
	}
	r.saved.Store(now.Mono)
	return r
}

// shard has the counts of some accounts since they were last taken.
type shard struct {
	mu     sync.Mutex
	counts counts   // guarded by mu
	_      [40]byte // no two locks share a cache line
}

// cell identifies a count. It is by key, so that one lookup serves both the usage of the
// account and the last use of the key.
type cell struct {
	account petcat.AccountID
	key     petcat.KeyID
	minute  int64
}

type count struct {
	petcat.UsageCounts

	last int64 // when it was last used, Unix seconds
}

// counts has its values in one piece, so that nothing is allocated once it has grown.
type counts struct {
	at     map[cell]int
	values []count
}

func newCounts() counts { return counts{at: make(map[cell]int)} }

// clear keeps the memory, unless it has grown because the store was unavailable for long.
func (c *counts) clear() {
	if len(c.values) > coarseAt {
		*c = newCounts()
		return
	}
	clear(c.at)
	c.values = c.values[:0]
}

// Count counts a request.
func (r *Recorder) Count(q Request) {
	unix := q.At.Unix()
	at := cell{q.Account, q.Key, petcat.Minute.Index(unix)}
	s := &r.shards[uint64(q.Account)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.counts.values) >= coarseAt {
		at.minute = petcat.Minute.Index(petcat.UsageByHour.Floor(q.At).Unix())
	}
	i, known := s.counts.at[at]
	if !known {
		i = len(s.counts.values)
		s.counts.at[at] = i
		s.counts.values = append(s.counts.values, count{})
	}
	s.counts.values[i].add(q, unix)
}

func (c *count) add(q Request, unix int64) {
	c.last = max(c.last, unix)
	c.Bytes += q.Bytes
	if q.Admitted {
		c.Requests++
	}
	if q.Status >= http.StatusInternalServerError {
		c.Failed++
	}
	switch q.Code {
	case petcat.CodeRateLimitExceeded:
		c.MinuteRefused++
	case petcat.CodeDailyQuotaExceeded:
		c.DayRefused++
	case petcat.CodeKeyBanned:
		c.BanRefused++
	case petcat.CodeMissingAPIKey, petcat.CodeInvalidAPIKey, petcat.CodeExpiredAPIKey, petcat.CodeRevokedAPIKey,
		petcat.CodeDisabledAPIKey, petcat.CodeTooManyFailedAttempts:
		c.KeyRefused++
	default:
	}
}

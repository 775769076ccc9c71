// Package usage counts the requests of each account by the hour, and once a second adds the
// counts to the usage history as one batch. It also keeps the last refusals of each account
// and when each key was last used.
//
// While the store is unavailable, counts wait in memory: one for each account and hour. A
// batch whose outcome is unknown is sent again unchanged, and counts once. A killed process
// loses the counts since its last batch.
package usage

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
)

const (
	// Interval is how often the counts are written. If that takes long, they are written
	// less often, so that it takes a tenth of the time at most.
	Interval = time.Second
	stretch  = 10
	// beat is how often a node without requests writes, so that it does not count as
	// killed.
	beat = 30 * time.Second
	// addTimeout bounds one attempt.
	addTimeout = 5 * time.Second
	// batchRows is how many counts go into one batch: creates on SQLite wait for it.
	batchRows = 5_000
	shards    = 64
	// shardRefusals bounds the groups of refusals of a shard that wait to be written.
	// Refusals of further groups are only counted.
	shardRefusals = 64
)

// Options says how a Meter works.
type Options struct {
	Node   string // names this process
	Clock  clock.Clock
	Logger *slog.Logger
}

// Store keeps what a Meter writes.
type Store interface {
	AddUsage(ctx context.Context, b petcat.UsageBatch) error
}

// Meter counts. It is safe for concurrent use.
type Meter struct {
	Options

	shards [shards]shard

	// Of Open, Flush and Close, one at a time:
	store   Store
	pending []petcat.UsageBatch // to be written, in this order
	number  int64               // of the last batch
	seen    time.Time           // of the last batch that was written
	wrote   int64               // when that was, as clock.Reading.Mono
	wait    time.Duration       // between two flushes
	failing bool                // the last attempt failed

	saved atomic.Int64 // until when everything is written, as clock.Reading.Mono
}

// New returns a meter that counts. It writes when Flush is called.
func New(o Options) *Meter {
	now := o.Clock.Read()
	m := &Meter{Options: o, seen: now.Time(), wait: Interval}
	for i := range m.shards {
		m.shards[i].counts = newCounts()
	}
	m.saved.Store(now.Mono)
	return m
}

// shard has the counts of some accounts since they were last taken.
type shard struct {
	mu     sync.Mutex
	counts counts // guarded by mu
	_      [32]byte
}

type counts struct {
	hours    map[accountHour]*petcat.UsageCounts
	keys     map[petcat.KeyID]int64 // when each was last used, Unix seconds
	refusals map[group]*petcat.Refusal
}

type accountHour struct {
	account petcat.AccountID
	hour    int64
}

// group identifies refusals that are kept as one.
type group struct {
	account   petcat.AccountID
	key       petcat.KeyID
	operation petcat.OperationID
	code      petcat.Code
}

func newCounts() counts {
	return counts{make(map[accountHour]*petcat.UsageCounts), make(map[petcat.KeyID]int64), make(map[group]*petcat.Refusal)}
}

// with calls fn with the counts of an account, and those of one of its hours.
func (m *Meter) with(account petcat.AccountID, unix int64, fn func(*counts, *petcat.UsageCounts)) {
	s := &m.shards[uint64(account)%shards]
	at := accountHour{account, unix / int64(time.Hour/time.Second)}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts.hours[at]
	if c == nil {
		c = new(petcat.UsageCounts)
		s.counts.hours[at] = c
	}
	fn(&s.counts, c)
}

// Admitted counts a request that was charged to an account's quotas. The time, in nanoseconds
// since the Unix epoch, is that of the clock by which it was charged: then the hours of a day
// in the history are what the limiter charged to that day.
func (m *Meter) Admitted(account petcat.AccountID, now int64) {
	m.with(account, now/int64(time.Second), func(_ *counts, c *petcat.UsageCounts) { c.Requests++ })
}

// Response is the end of a request.
type Response struct {
	At      time.Time
	Account petcat.AccountID // 0: of no account
	Key     petcat.KeyID
	Status  int
	Code    petcat.Code
	Bytes   int64 // of the body
}

// Done counts everything about a request but that it was admitted.
func (m *Meter) Done(r Response) {
	unix := r.At.Unix()
	m.with(r.Account, unix, func(all *counts, c *petcat.UsageCounts) {
		if r.Key != 0 {
			all.keys[r.Key] = max(all.keys[r.Key], unix)
		}
		c.Bytes += r.Bytes
		if r.Status >= http.StatusInternalServerError {
			c.Failed++
		}
		switch r.Code {
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
	})
}

// Refused keeps a refused or failed request of an account, with its time as Last.
func (m *Meter) Refused(r petcat.Refusal) {
	m.with(r.Account, r.Last.Unix(), func(all *counts, _ *petcat.UsageCounts) {
		g := group{r.Account, r.Key, r.Operation, r.Code}
		r.Count, r.First = 1, r.Last
		if before := all.refusals[g]; before != nil {
			r.Count, r.First = before.Count+1, before.First
			*before = r
		} else if len(all.refusals) < shardRefusals {
			all.refusals[g] = &r
		}
	})
}

// Open sets the store. The first Flush registers the node there.
func (m *Meter) Open(store Store) { m.store = store }

// Wait returns how long to wait before the next Flush.
func (m *Meter) Wait() time.Duration { return m.wait }

// Flush writes the counts since the last call. Counts that cannot be written wait for the
// next call.
func (m *Meter) Flush(ctx context.Context) { m.write(ctx, false) }

// Close writes everything, and that the node has ended, until it succeeds or ctx ends. No
// request may be counted any more.
func (m *Meter) Close(ctx context.Context) {
	if m.store == nil {
		return
	}
	for !m.write(ctx, true) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(Interval / 10):
		}
	}
	if ctx.Err() != nil {
		m.Logger.Warn("last usage counts not written")
	}
}

// Unsaved returns for how long some counts may not have been written: the time since all of
// them were.
func (m *Meter) Unsaved() time.Duration {
	return time.Duration(m.Clock.Read().Mono - m.saved.Load())
}

// write writes the pending batches and the new counts, and reports whether all are written.
// last says that the node ends.
func (m *Meter) write(ctx context.Context, last bool) (done bool) {
	m.wait = Interval
	if !m.send(ctx) {
		return false
	}
	now := m.Clock.Read()
	b := m.take()
	if len(b.Counts) > 0 || last || m.number == 0 || time.Duration(now.Mono-m.wrote) >= beat {
		m.divide(b, now.Time(), last)
		if !m.send(ctx) {
			return false
		}
		m.wait = max(Interval, stretch*m.Clock.Read().Since(now))
	}
	m.saved.Store(now.Mono)
	return true
}

// take returns the counts since the last call, sorted. The account 0 is in the sum of all
// accounts only, which is the last: nodes wait there for each other.
func (m *Meter) take() (b petcat.UsageBatch) {
	sums := make(map[int64]*petcat.UsageCounts) // by hour
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		var taken counts
		if len(s.counts.hours) > 0 {
			taken, s.counts = s.counts, newCounts()
		}
		s.mu.Unlock()
		for at, c := range taken.hours {
			if sums[at.hour] == nil {
				sums[at.hour] = new(petcat.UsageCounts)
			}
			sums[at.hour].Add(*c)
			if at.account != petcat.AllAccounts {
				b.Counts = append(b.Counts, petcat.UsageCount{Account: at.account, Hour: at.hour, UsageCounts: *c})
			}
		}
		for key, at := range taken.keys {
			b.Keys = append(b.Keys, petcat.KeyUse{Key: key, At: time.Unix(at, 0).UTC()})
		}
		for _, r := range taken.refusals {
			b.Refusals = append(b.Refusals, *r)
		}
	}
	slices.SortFunc(b.Counts, func(a, b petcat.UsageCount) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Hour, b.Hour))
	})
	for _, hour := range slices.Sorted(maps.Keys(sums)) {
		b.Counts = append(b.Counts, petcat.UsageCount{Account: petcat.AllAccounts, Hour: hour, UsageCounts: *sums[hour]})
	}
	slices.SortFunc(b.Keys, func(a, b petcat.KeyUse) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(b.Refusals, func(a, b petcat.Refusal) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Code, b.Code))
	})
	return b
}

// divide divides the counts up to the given time into pending batches.
func (m *Meter) divide(all petcat.UsageBatch, seen time.Time, last bool) {
	for first := true; first || len(all.Counts) > 0 || len(all.Keys) > 0; first = false {
		counts, keys := min(batchRows, len(all.Counts)), min(batchRows, len(all.Keys))
		m.number++
		m.pending = append(m.pending, petcat.UsageBatch{
			Node: m.Node, Number: m.number, SeenAt: m.seen, Counts: all.Counts[:counts], Keys: all.Keys[:keys], Refusals: all.Refusals,
		})
		all.Counts, all.Keys, all.Refusals = all.Counts[counts:], all.Keys[keys:], nil
	}
	b := &m.pending[len(m.pending)-1] // only after the last batch is everything written
	b.SeenAt, b.Ended = seen, last
}

// send writes the pending batches, and reports whether all are written.
func (m *Meter) send(ctx context.Context) bool {
	for len(m.pending) > 0 {
		b := m.pending[0]
		limited, cancel := context.WithTimeout(ctx, addTimeout)
		err := m.store.AddUsage(limited, b)
		cancel()
		if err != nil {
			if ctx.Err() == nil && !m.failing { // else it was interrupted, by Close or in it
				m.failing = true
				m.Logger.WarnContext(ctx, "usage flush failed; counts wait in memory", "error", err)
			}
			return false
		}
		if m.failing {
			m.Logger.InfoContext(ctx, "usage flush succeeded again")
		}
		m.failing, m.seen, m.wrote = false, b.SeenAt, m.Clock.Read().Mono
		m.pending = m.pending[1:]
	}
	m.pending = nil
	return true
}

// Package usage counts the requests of each account by hour, and adds the counts to the usage
// history in one batch per second. It also records the last rejections of each account and the last
// use of each key.
//
// While the store is unavailable, counts accumulate in memory, one for each account and hour. A
// batch whose outcome is unknown is sent again unchanged, and counts once. A killed process loses
// the counts since its last batch.
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

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

const (
	// Interval is the pause between flushes. A slow database is not flushed to less often: its
	// batches have more requests, but hardly more rows.
	Interval = time.Second
	// beat is the time between empty batches of a node without requests, which would
	// otherwise count as killed.
	beat = 30 * time.Second
	// addTimeout is the timeout of an attempt to write a batch.
	addTimeout = 5 * time.Second
	// batchRows is the maximum number of rows of counts in a batch: on SQLite, creates wait for it.
	batchRows = 5_000
	shards    = 64
	// shardRejections is the maximum number of unwritten rejection groups in a shard.
	// Rejections of other groups are only counted.
	shardRejections = 64
	// maxDetail is the maximum number of rows of usage by key and operation for an account and
	// hour. One of them has the requests of all further keys and operations.
	maxDetail = 256
)

// Options of a [Meter].
type Options struct {
	Node   string // identifies this process
	Clock  clock.Clock
	Logger *slog.Logger
	Detail bool // also count by key and operation
}

// Store stores batches.
type Store interface {
	AddUsage(ctx context.Context, b petcat.UsageBatch) error
}

// Meter counts requests. It is safe for concurrent use.
type Meter struct {
	options Options

	shards [shards]shard

	// Used by Open, Run, Flush and Close, which must not run concurrently:
	store   Store
	pending []petcat.UsageBatch // in this order
	number  int64               // of the last batch
	seen    time.Time           // SeenAt of the last written batch
	wrote   int64               // time of the last write, as clock.Reading.Mono
	hour    int64               // of the last call of take, Unix time in hours
	failing bool                // the last attempt failed

	saved atomic.Int64 // everything before this time is written, as clock.Reading.Mono
}

// New returns a meter. It writes only when Run, Flush or Close is called.
func New(o Options) *Meter {
	now := o.Clock.Read()
	m := &Meter{options: o, seen: now.Time()}
	for i := range m.shards {
		m.shards[i].counts = newCounts()
		m.shards[i].known = make(map[accountHour][]keyOperation)
	}
	m.saved.Store(now.Mono)
	return m
}

// shard holds the unwritten counts of a part of the accounts.
type shard struct {
	mu     sync.Mutex
	counts counts // guarded by mu
	// known are the keys and operations of an account that have rows in an hour, so that there are
	// at most maxDetail. Guarded by mu.
	known map[accountHour][]keyOperation
	_     [24]byte
}

type counts struct {
	hours      map[accountHour]*petcat.UsageCount
	keys       map[petcat.KeyID]int64 // time of the last use, Unix seconds
	rejections map[group]*petcat.Rejection
}

type accountHour struct {
	account petcat.AccountID
	hour    int64
}

// keyOperation identifies a row of usage by key and operation. The zero value is the row of those without
// a separate one.
type keyOperation struct {
	key       petcat.KeyID
	operation petcat.OperationID
}

// group identifies a group of rejections.
type group struct {
	account   petcat.AccountID
	key       petcat.KeyID
	operation petcat.OperationID
	code      petcat.Code
}

func newCounts() counts {
	return counts{make(map[accountHour]*petcat.UsageCount), make(map[petcat.KeyID]int64), make(map[group]*petcat.Rejection)}
}

// with calls fn with the account's shard, and the counts of the account in one hour.
func (m *Meter) with(account petcat.AccountID, unix int64, fn func(*shard, *petcat.UsageCount)) {
	s := &m.shards[uint64(account)%shards]
	at := accountHour{account, unix / int64(time.Hour/time.Second)}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts.hours[at]
	if c == nil {
		c = &petcat.UsageCount{Account: account, Hour: at.hour}
		s.counts.hours[at] = c
	}
	fn(s, c)
}

// detail adds counts to the row of a key and an operation. An account rarely has more than ten, so a
// search is fast enough.
func (s *shard) detail(c *petcat.UsageCount, key petcat.KeyID, operation petcat.OperationID, n petcat.UsageCounts) {
	row := rowOf(c, keyOperation{key, operation})
	if row == nil {
		row = s.newRow(c, keyOperation{key, operation})
	}
	row.Requests += n.Requests
	row.Rejected += n.Rejected()
	row.Failed += n.Failed
}

// rowOf returns the row of a key and an operation, nil if there is none.
func rowOf(c *petcat.UsageCount, k keyOperation) *petcat.UsageDetail {
	for i := range c.Detail {
		if d := &c.Detail[i]; d.Key == k.key && d.Operation == k.operation {
			return d
		}
	}
	return nil
}

// newRow returns the row for a key and an operation without a row since the last flush.
func (s *shard) newRow(c *petcat.UsageCount, k keyOperation) *petcat.UsageDetail {
	at := accountHour{c.Account, c.Hour}
	if known := s.known[at]; !slices.Contains(known, k) {
		if len(known) < maxDetail-1 {
			s.known[at] = append(known, k)
		} else {
			k = keyOperation{}
			if row := rowOf(c, k); row != nil {
				return row
			}
		}
	}
	c.Detail = append(c.Detail, petcat.UsageDetail{Key: k.key, Operation: k.operation})
	return &c.Detail[len(c.Detail)-1]
}

// CountRequest counts a request that was charged to an account's quotas. now is the time, in
// nanoseconds since the Unix epoch, by the clock that charged it: then the hours of a day add up
// to the limiter's count of that day.
func (m *Meter) CountRequest(account petcat.AccountID, key petcat.KeyID, operation petcat.OperationID, now int64) {
	m.with(account, now/int64(time.Second), func(s *shard, c *petcat.UsageCount) {
		c.Requests++
		if m.options.Detail {
			s.detail(c, key, operation, petcat.UsageCounts{Requests: 1})
		}
	})
}

// Response describes a finished request.
type Response struct {
	At        time.Time
	Account   petcat.AccountID // 0: no account
	Key       petcat.KeyID
	Operation petcat.OperationID
	Status    int
	Code      petcat.Code
	Bytes     int64 // of the body
}

// Done counts a finished request; CountRequest has counted it if it was charged.
func (m *Meter) Done(r Response) {
	unix := r.At.Unix()
	m.with(r.Account, unix, func(s *shard, c *petcat.UsageCount) {
		n := r.counts()
		if r.Key != 0 && n.KeyRejected == 0 {
			s.counts.keys[r.Key] = max(s.counts.keys[r.Key], unix)
		}
		c.Add(n)
		if m.options.Detail && r.Account != petcat.AllAccounts && n.Rejected()+n.Failed > 0 {
			s.detail(c, r.Key, r.Operation, n)
		}
	})
}

// counts returns the counts of a response.
func (r Response) counts() (c petcat.UsageCounts) {
	c.Bytes = r.Bytes
	if r.Status >= http.StatusInternalServerError {
		c.Failed = 1
	}
	switch r.Code {
	case petcat.CodeRateLimitExceeded:
		c.MinuteRejected = 1
	case petcat.CodeDailyQuotaExceeded:
		c.DayRejected = 1
	case petcat.CodeKeyBanned:
		c.BanRejected = 1
	case petcat.CodeMissingAPIKey, petcat.CodeInvalidAPIKey, petcat.CodeExpiredAPIKey, petcat.CodeRevokedAPIKey,
		petcat.CodeDisabledAPIKey, petcat.CodeAddressNotAllowed, petcat.CodeTooManyFailedAttempts:
		c.KeyRejected = 1
	default:
	}
	return c
}

// Rejected records a rejected or failed request of an account at the time r.Last.
func (m *Meter) Rejected(r petcat.Rejection) {
	m.with(r.Account, r.Last.Unix(), func(s *shard, _ *petcat.UsageCount) {
		all := s.counts.rejections
		g := group{r.Account, r.Key, r.Operation, r.Code}
		r.Count, r.First = 1, r.Last
		if before := all[g]; before != nil {
			r.Count, r.First = before.Count+1, before.First
			*before = r
		} else if len(all) < shardRejections {
			all[g] = &r
		}
	})
}

// Open sets the store. The first Flush registers the node in it.
func (m *Meter) Open(store Store) { m.store = store }

// Run flushes every Interval until ctx is canceled.
func (m *Meter) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(Interval):
			m.Flush(ctx)
		}
	}
}

// Flush writes the counts since the last call. If it fails, the next call writes them.
func (m *Meter) Flush(ctx context.Context) { m.write(ctx, false) }

// Close writes all counts and marks the node as stopped. It retries until ctx is canceled. Do not count
// requests after Close.
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
		m.options.Logger.Warn("last usage counts not written")
	}
}

// Unsaved returns the time since all counts were written.
func (m *Meter) Unsaved() time.Duration {
	return time.Duration(m.options.Clock.Read().Mono - m.saved.Load())
}

// write writes the pending batches and the new counts, and reports whether all were written. last
// is true if the node stops.
func (m *Meter) write(ctx context.Context, last bool) (done bool) {
	if !m.send(ctx) {
		return false
	}
	now := m.options.Clock.Read()
	b := m.take(now.Time().Unix() / int64(time.Hour/time.Second))
	if len(b.Counts) > 0 || last || m.number == 0 || time.Duration(now.Mono-m.wrote) >= beat {
		m.divide(b, now.Time(), last)
		if !m.send(ctx) {
			return false
		}
	}
	m.saved.Store(now.Mono)
	return true
}

// take returns the counts since the last call, sorted. Counts of account 0 are only in the sums of
// all accounts, which come last, because all nodes contend for those rows. A request may finish in the
// hour after the one in which it counts, so known keys and operations are kept for two hours.
func (m *Meter) take(hour int64) (b petcat.UsageBatch) {
	sums := make(map[int64]*petcat.UsageCounts) // by hour
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		var taken counts
		if len(s.counts.hours) > 0 {
			taken, s.counts = s.counts, newCounts()
		}
		if hour != m.hour {
			maps.DeleteFunc(s.known, func(at accountHour, _ []keyOperation) bool { return at.hour < hour-1 })
		}
		s.mu.Unlock()
		for at, c := range taken.hours {
			if sums[at.hour] == nil {
				sums[at.hour] = new(petcat.UsageCounts)
			}
			sums[at.hour].Add(c.UsageCounts)
			if at.account != petcat.AllAccounts {
				sortDetail(c.Detail)
				b.Counts = append(b.Counts, *c)
			}
		}
		for key, at := range taken.keys {
			b.Keys = append(b.Keys, petcat.KeyUse{Key: key, At: time.Unix(at, 0).UTC()})
		}
		for _, r := range taken.rejections {
			b.Rejections = append(b.Rejections, *r)
		}
	}
	m.hour = hour
	slices.SortFunc(b.Counts, func(a, b petcat.UsageCount) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Hour, b.Hour))
	})
	for _, hour := range slices.Sorted(maps.Keys(sums)) {
		b.Counts = append(b.Counts, petcat.UsageCount{Account: petcat.AllAccounts, Hour: hour, UsageCounts: *sums[hour]})
	}
	slices.SortFunc(b.Keys, func(a, b petcat.KeyUse) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(b.Rejections, func(a, b petcat.Rejection) int {
		return cmp.Or(
			cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Operation, b.Operation),
			cmp.Compare(a.Code, b.Code),
		)
	})
	return b
}

func sortDetail(detail []petcat.UsageDetail) {
	slices.SortFunc(detail, func(a, b petcat.UsageDetail) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operation, b.Operation))
	})
}

// fitting returns how many of the counts fit into a batch, at least one if there are any.
func fitting(counts []petcat.UsageCount) int {
	rows := 0
	for i, c := range counts {
		rows += 1 + len(c.Detail)
		if rows > batchRows && i > 0 {
			return i
		}
	}
	return len(counts)
}

// divide splits the counts until seen into pending batches.
func (m *Meter) divide(all petcat.UsageBatch, seen time.Time, last bool) {
	for first := true; first || len(all.Counts) > 0 || len(all.Keys) > 0; first = false {
		counts, keys := fitting(all.Counts), min(batchRows, len(all.Keys))
		m.number++
		m.pending = append(m.pending, petcat.UsageBatch{
			Node:       m.options.Node,
			Number:     m.number,
			SeenAt:     m.seen,
			Counts:     all.Counts[:counts],
			Keys:       all.Keys[:keys],
			Rejections: all.Rejections,
		})
		all.Counts, all.Keys, all.Rejections = all.Counts[counts:], all.Keys[keys:], nil
	}
	b := &m.pending[len(m.pending)-1] // everything is written only after the last batch
	b.SeenAt, b.Stopped = seen, last
}

// send writes the pending batches, and reports whether all were written.
func (m *Meter) send(ctx context.Context) bool {
	for len(m.pending) > 0 {
		b := m.pending[0]
		limited, cancel := context.WithTimeout(ctx, addTimeout)
		err := m.store.AddUsage(limited, b)
		cancel()
		if err != nil {
			if ctx.Err() == nil && !m.failing { // else Close interrupted it
				m.failing = true
				m.options.Logger.WarnContext(ctx, "usage flush failed; counts are kept in memory", "error", err)
			}
			return false
		}
		if m.failing {
			m.options.Logger.InfoContext(ctx, "usage flush succeeded again")
		}
		m.failing, m.seen, m.wrote = false, b.SeenAt, m.options.Clock.Read().Mono
		m.pending = m.pending[1:]
	}
	m.pending = nil
	return true
}

package usage

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/clocktest"
)

var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

// memory is a store in memory that may be unavailable.
type memory struct {
	down    atomic.Bool
	took    time.Duration // by each write
	batches []petcat.UsageBatch
	offered []petcat.UsageBatch // including failed writes
}

func (m *memory) AddUsage(ctx context.Context, b petcat.UsageBatch) error {
	m.offered = append(m.offered, b)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(m.took):
	}
	if m.down.Load() {
		return errors.New("down")
	}
	m.batches = append(m.batches, b)
	return nil
}

// total returns the sum of the written counts of an account.
func (m *memory) total(account petcat.AccountID) (sum petcat.UsageCounts) {
	for _, b := range m.batches {
		for _, c := range b.Counts {
			if c.Account == account {
				sum.Add(c.UsageCounts)
			}
		}
	}
	return sum
}

func start(c clock.Clock) (*Meter, *memory) {
	m := New(Options{Node: "a", Clock: c, Logger: slog.New(slog.DiscardHandler), Detail: true})
	s := &memory{}
	m.Open(s)
	return m, s
}

func TestDone(t *testing.T) {
	for name, c := range map[string]struct {
		response Response
		want     petcat.UsageCounts
	}{
		"success":  {Response{Status: 200, Bytes: 5}, petcat.UsageCounts{Bytes: 5}},
		"invalid":  {Response{Status: 400, Code: petcat.CodeInvalidField, Bytes: 5}, petcat.UsageCounts{Bytes: 5}},
		"failed":   {Response{Status: 503, Code: petcat.CodeServiceUnavailable}, petcat.UsageCounts{Failed: 1}},
		"minute":   {Response{Status: 429, Code: petcat.CodeRateLimitExceeded}, petcat.UsageCounts{MinuteRejected: 1}},
		"day":      {Response{Status: 429, Code: petcat.CodeDailyQuotaExceeded}, petcat.UsageCounts{DayRejected: 1}},
		"ban":      {Response{Status: 429, Code: petcat.CodeKeyBanned}, petcat.UsageCounts{BanRejected: 1}},
		"bad key":  {Response{Status: 401, Code: petcat.CodeInvalidAPIKey}, petcat.UsageCounts{KeyRejected: 1}},
		"revoked":  {Response{Status: 401, Code: petcat.CodeRevokedAPIKey}, petcat.UsageCounts{KeyRejected: 1}},
		"address":  {Response{Status: 403, Code: petcat.CodeAddressNotAllowed}, petcat.UsageCounts{KeyRejected: 1}},
		"too many": {Response{Status: 429, Code: petcat.CodeTooManyFailedAttempts}, petcat.UsageCounts{KeyRejected: 1}},
	} {
		m, s := start(clocktest.NewManual(noon))
		c.response.At, c.response.Account, c.response.Key = noon, 7, 1
		m.Done(c.response)
		m.Flush(t.Context())
		if diff := cmp.Diff(c.want, s.total(c.response.Account)); diff != "" {
			t.Errorf("%s, account (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.want, s.total(petcat.AllAccounts)); diff != "" {
			t.Errorf("%s, all accounts (-want +got):\n%s", name, diff)
		}
		keys, want := s.batches[0].Keys, []petcat.KeyUse{{Key: 1, At: noon}}
		if c.want.KeyRejected > 0 { // perhaps by somebody else
			want = nil
		}
		if !slices.Equal(keys, want) {
			t.Errorf("%s: got the keys %v", name, keys)
		}
	}
}

// TestBatchIsSorted: batches are sorted by account and hour, with the sums of all accounts at the
// end. A request counts in the hour in which it was charged.
func TestBatchIsSorted(t *testing.T) {
	m, s := start(clocktest.NewManual(noon))
	for _, a := range []petcat.AccountID{65, 2, 300, 1} {
		m.CountRequest(a, 1, petcat.OpListCategories, noon.Add(-1).UnixNano())
		m.CountRequest(a, 1, petcat.OpListCategories, noon.UnixNano())
	}
	m.Done(Response{At: noon, Status: 401, Code: petcat.CodeMissingAPIKey})
	m.Flush(t.Context())
	hour := noon.Unix() / 3600
	var want []petcat.UsageCount
	for _, a := range []petcat.AccountID{1, 2, 65, 300} {
		for h := hour - 1; h <= hour; h++ {
			want = append(want, petcat.UsageCount{
				Account:     a,
				Hour:        h,
				UsageCounts: petcat.UsageCounts{Requests: 1},
				Detail:      []petcat.UsageDetail{{Key: 1, Operation: petcat.OpListCategories, Requests: 1}},
			})
		}
	}
	want = append(want, petcat.UsageCount{Hour: hour - 1, UsageCounts: petcat.UsageCounts{Requests: 4}},
		petcat.UsageCount{Hour: hour, UsageCounts: petcat.UsageCounts{Requests: 4, KeyRejected: 1}})
	if diff := cmp.Diff(want, s.batches[0].Counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCountInParallel: concurrent flushes neither lose requests nor count them twice.
func TestCountInParallel(t *testing.T) {
	const workers, each = 4, 2_000
	m, s := start(clocktest.NewManual(noon))
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for n := range each {
				m.CountRequest(petcat.AccountID(1+(n+w)%70), 1, petcat.OpListCategories, noon.UnixNano())
			}
		})
	}
	for range 20 {
		m.Flush(t.Context())
	}
	all.Wait()
	m.Flush(t.Context())
	if got := s.total(petcat.AllAccounts).Requests; got != workers*each {
		t.Errorf("wrote %d requests, want %d", got, workers*each)
	}
}

func TestCountDoesNotAllocate(t *testing.T) {
	m, _ := start(clocktest.NewManual(noon))
	count := func() {
		m.CountRequest(7, 1, petcat.OpListCategories, noon.UnixNano())
		m.Done(Response{At: noon, Account: 7, Key: 1, Status: 200, Bytes: 5})
	}
	count()
	if n := testing.AllocsPerRun(100, count); n != 0 {
		t.Errorf("counting makes %v allocations", n)
	}
}

// TestBatchIsRepeatedUnchanged: the same batch is sent until it is written. New counts go into the
// next batch.
func TestBatchIsRepeatedUnchanged(t *testing.T) {
	c := clocktest.NewManual(noon)
	m, s := start(c)
	m.Flush(t.Context())
	s.down.Store(true)
	for range 3 {
		c.Advance(time.Second)
		m.CountRequest(7, 1, petcat.OpListCategories, c.Read().Wall)
		m.Flush(t.Context())
	}
	for _, again := range s.offered[2:] {
		if diff := cmp.Diff(s.offered[1], again); diff != "" {
			t.Errorf("the repeated batch differs (-want +got):\n%s", diff)
		}
	}
	if unsaved := m.Unsaved(); unsaved != 3*time.Second {
		t.Errorf("Unsaved returns %s, 3 s after the last write", unsaved)
	}
	s.down.Store(false)
	m.Flush(t.Context())
	if len(s.batches) != 3 || s.batches[1].Number != 2 || s.batches[2].Number != 3 {
		t.Errorf("batches %+v", s.batches)
	}
	if s.batches[2].SeenAt != noon.Add(3*time.Second) || s.total(7).Requests != 3 {
		t.Errorf("wrote %+v", s.batches)
	}
	if unsaved := m.Unsaved(); unsaved != 0 {
		t.Errorf("Unsaved returns %s after everything was written", unsaved)
	}
}

// TestLargeBatchesAreDivided: only the last part advances SeenAt.
func TestLargeBatchesAreDivided(t *testing.T) {
	c := clocktest.NewManual(noon)
	m, s := start(c)
	c.Advance(time.Second)
	const accounts = 2*batchRows + 100
	for a := range petcat.AccountID(accounts) {
		m.Done(Response{At: noon, Account: a + 1, Key: petcat.KeyID(a + 1), Bytes: 1})
	}
	m.Flush(t.Context())
	if len(s.batches) != 3 || s.total(petcat.AllAccounts).Bytes != accounts {
		t.Fatalf("%d batches have %d bytes", len(s.batches), s.total(petcat.AllAccounts).Bytes)
	}
	for i, b := range s.batches {
		want := noon
		if i == 2 {
			want = noon.Add(time.Second)
		}
		if b.Number != int64(i+1) || !b.SeenAt.Equal(want) || len(b.Counts) > batchRows || len(b.Keys) > batchRows {
			t.Errorf("batch %d has the number %d and %d counts until %s", i+1, b.Number, len(b.Counts), b.SeenAt)
		}
	}
}

// TestDetailCountsAsRows: a batch has at most batchRows rows, with those by key and operation.
func TestDetailCountsAsRows(t *testing.T) {
	m, s := start(clocktest.NewManual(noon))
	for a := range petcat.AccountID(batchRows) {
		m.CountRequest(a+1, 1, petcat.OpListCategories, noon.UnixNano())
	}
	m.Flush(t.Context())
	if len(s.batches) != 3 || len(s.batches[0].Counts) != batchRows/2 || s.total(petcat.AllAccounts).Requests != batchRows {
		t.Errorf("got %d batches, the first with %d counts", len(s.batches), len(s.batches[0].Counts))
	}
}

// TestSlowFlush: a slow or hung flush does not delay the flushes after it.
func TestSlowFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := start(clock.NewSystem())
		for _, took := range []time.Duration{50 * time.Millisecond, 2 * time.Second, addTimeout + 1} {
			s.took = took
			m.CountRequest(7, 1, petcat.OpListCategories, 0)
			m.Flush(t.Context())
			s.took = 0
			m.CountRequest(7, 1, petcat.OpListCategories, 0)
			second, stop := context.WithTimeout(t.Context(), Interval+1)
			m.Run(second)
			stop()
			if unsaved := m.Unsaved(); unsaved > 1 {
				t.Errorf("a second after a flush of %s, the requests of %s are unsaved", took, unsaved)
			}
		}
	})
}

// TestDetailAddsUp: the rows by key and operation of each count add up to it, on each outcome.
func TestDetailAddsUp(t *testing.T) {
	m, s := start(clocktest.NewManual(noon))
	done := func(key petcat.KeyID, operation petcat.OperationID, status int, code petcat.Code) {
		m.Done(Response{At: noon, Account: 7, Key: key, Operation: operation, Status: status, Code: code})
	}
	for _, key := range []petcat.KeyID{2, 1, 2} {
		m.CountRequest(7, key, petcat.OpListCategories, noon.UnixNano())
		done(key, petcat.OpListCategories, 200, "")
	}
	m.CountRequest(7, 1, "", noon.UnixNano())
	done(1, "", 404, petcat.CodeNotFound)
	done(1, petcat.OpGetUsage, 200, "")
	done(2, petcat.OpCreateCategory, 429, petcat.CodeRateLimitExceeded)
	done(2, petcat.OpCreateCategory, 429, petcat.CodeDailyQuotaExceeded)
	done(2, petcat.OpCreateCategory, 429, petcat.CodeKeyBanned)
	done(2, petcat.OpCreateCategory, 503, petcat.CodeServiceUnavailable)
	m.Done(Response{At: noon, Status: 401, Code: petcat.CodeInvalidAPIKey})
	m.Flush(t.Context())
	counts := s.batches[0].Counts
	want := []petcat.UsageDetail{
		{Key: 1, Requests: 1},
		{Key: 1, Operation: petcat.OpListCategories, Requests: 1},
		{Key: 2, Operation: petcat.OpCreateCategory, Rejected: 3, Failed: 1},
		{Key: 2, Operation: petcat.OpListCategories, Requests: 2},
	}
	if diff := cmp.Diff(want, counts[0].Detail); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sum := sumOf(counts[0]); sum != (petcat.UsageDetail{Requests: 4, Rejected: 3, Failed: 1}) {
		t.Errorf("the rows add up to %+v", sum)
	}
	if all := counts[1]; all.Account != petcat.AllAccounts || all.Detail != nil {
		t.Errorf("the sum of all accounts is %+v", all)
	}
}

// sumOf returns the sum of the rows of a count.
func sumOf(c petcat.UsageCount) (sum petcat.UsageDetail) {
	for _, d := range c.Detail {
		sum.Requests += d.Requests
		sum.Rejected += d.Rejected
		sum.Failed += d.Failed
	}
	return sum
}

// TestDetailIsBounded: an account gets at most maxDetail rows in an hour, however many flushes it has.
// The rest is in one row, and the sum is right. The next hour begins again.
func TestDetailIsBounded(t *testing.T) {
	c := clocktest.NewManual(noon)
	m, s := start(c)
	type row struct {
		hour      int64
		key       petcat.KeyID
		operation petcat.OperationID
	}
	count := func(keys petcat.KeyID) {
		for key := range keys {
			m.CountRequest(7, key+1, petcat.OpListCategories, c.Read().Wall)
		}
		m.Flush(t.Context())
	}
	rowsOf := func() (rows map[row]int64) {
		rows = make(map[row]int64)
		for _, b := range s.batches {
			for _, d := range b.Counts[0].Detail {
				rows[row{b.Counts[0].Hour, d.Key, d.Operation}] += d.Requests
			}
		}
		return rows
	}
	hour := noon.Unix() / 3600
	count(200)
	count(300)
	count(300)
	rows := rowsOf()
	if got, rest := len(rows), rows[row{hour: hour}]; got != maxDetail || rest != 2*(300-maxDetail+1) {
		t.Errorf("got %d rows, with %d requests in the one of the rest", got, rest)
	}
	if got := rows[row{hour, 200, petcat.OpListCategories}]; got != 3 {
		t.Errorf("a key that has a row counted %d requests", got)
	}
	c.Advance(3 * time.Hour)
	count(1)
	count(300)
	if got := len(rowsOf()) - maxDetail; got != maxDetail {
		t.Errorf("got %d rows in a later hour", got)
	}
	if got := len(m.shards[7].known); got != 1 {
		t.Errorf("remembers the rows of %d hours", got)
	}
}

// TestWithoutDetail: a meter that does not count by key and operation writes the same counts.
func TestWithoutDetail(t *testing.T) {
	s := &memory{}
	m := New(Options{Node: "a", Clock: clocktest.NewManual(noon), Logger: slog.New(slog.DiscardHandler)})
	m.Open(s)
	m.CountRequest(7, 1, petcat.OpListCategories, noon.UnixNano())
	m.Done(Response{At: noon, Account: 7, Key: 1, Status: 503})
	m.Flush(t.Context())
	want := petcat.UsageCounts{Requests: 1, Failed: 1}
	if got := s.batches[0].Counts[0]; got.UsageCounts != want || got.Detail != nil {
		t.Errorf("wrote %+v", got)
	}
}

// TestEmptyBatches: a node without requests writes empty batches, and a last one when it stops.
func TestEmptyBatches(t *testing.T) {
	c := clocktest.NewManual(noon)
	m, s := start(c)
	for range 120 {
		m.Flush(t.Context())
		c.Advance(time.Second)
	}
	if len(s.batches) != 4 {
		t.Errorf("wrote %d batches in two minutes, want 4", len(s.batches))
	}
	m.Close(t.Context())
	if last := s.batches[len(s.batches)-1]; !last.Stopped {
		t.Errorf("the last batch is %+v", last)
	}
}

// TestClose: Close retries until it succeeds. An interrupted write is not logged as a failure of
// the store; unwritten counts are logged.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &memory{}
		s.down.Store(true)
		m := New(Options{Node: "a", Clock: clock.NewSystem(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		m.Close(t.Context()) // before Open
		m.Open(s)
		m.CountRequest(7, 1, petcat.OpListCategories, 0)
		ended, end := context.WithCancel(t.Context())
		end()
		m.Flush(ended)
		if log.Len() > 0 {
			t.Errorf("the interrupted write was logged: %s", &log)
		}
		m.Close(ended)
		if !strings.Contains(log.String(), "not written") {
			t.Errorf("unwritten counts were logged as %q", &log)
		}
		time.AfterFunc(time.Minute, func() { s.down.Store(false) })
		m.Close(t.Context())
		if got := s.total(7).Requests; got != 1 || !s.batches[len(s.batches)-1].Stopped {
			t.Errorf("Close wrote %d requests in %+v", got, s.batches)
		}
	})
}

// TestRejectionsAreGrouped: rejections are grouped by account, key, operation and code. The number
// of unwritten groups is bounded.
func TestRejectionsAreGrouped(t *testing.T) {
	m, s := start(clocktest.NewManual(noon))
	rejected := func(key petcat.KeyID, code petcat.Code, after time.Duration) {
		m.Rejected(petcat.Rejection{
			Account:   7,
			Key:       key,
			Code:      code,
			Last:      noon.Add(after),
			RequestID: after.String(),
		})
	}
	rejected(1, petcat.CodeRateLimitExceeded, 0)
	rejected(1, petcat.CodeKeyBanned, time.Second)
	rejected(1, petcat.CodeRateLimitExceeded, 2*time.Second)
	m.Flush(t.Context())
	want := []petcat.Rejection{
		{
			Account: 7, Key: 1, Code: petcat.CodeKeyBanned, Count: 1,
			First: noon.Add(time.Second), Last: noon.Add(time.Second), RequestID: "1s",
		},
		{
			Account: 7, Key: 1, Code: petcat.CodeRateLimitExceeded, Count: 2,
			First: noon, Last: noon.Add(2 * time.Second), RequestID: "2s",
		},
	}
	if diff := cmp.Diff(want, s.batches[0].Rejections); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key := range petcat.KeyID(2 * shardRejections) {
		rejected(key, petcat.CodeKeyBanned, 0)
	}
	m.Flush(t.Context())
	if got := len(s.batches[1].Rejections); got != shardRejections {
		t.Errorf("got %d groups, want %d", got, shardRejections)
	}
}

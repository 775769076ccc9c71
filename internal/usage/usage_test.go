package usage

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/clock"
)

var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

// memory keeps the batches that it is given while it is there.
type memory struct {
	away     bool
	batches  []petcat.UsageBatch
	refusals []petcat.AccountRefusals
}

func (m *memory) AddRefusals(_ context.Context, refusals []petcat.AccountRefusals) error {
	m.refusals = append(m.refusals, refusals...)
	return nil
}

func (m *memory) AddUsage(_ context.Context, b petcat.UsageBatch) error {
	if m.away {
		return errors.New("away")
	}
	m.batches = append(m.batches, b)
	return nil
}

// total is the sum of what was written for an account.
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

func start(c clock.Clock, s Store, node string) *Recorder {
	r := New(Options{Node: node, Clock: c, Logger: slog.New(slog.DiscardHandler)})
	r.Open(s)
	return r
}

func TestCount(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		want    petcat.UsageCounts
	}{
		"admitted":            {Request{Account: 7, Key: 1, Admitted: true, Status: 200, Bytes: 5}, petcat.UsageCounts{Requests: 1, Bytes: 5}},
		"admitted, and wrong": {Request{Account: 7, Key: 1, Admitted: true, Status: 400, Code: petcat.CodeInvalidField, Bytes: 5}, petcat.UsageCounts{Requests: 1, Bytes: 5}},
		"admitted, and lost":  {Request{Account: 7, Key: 1, Admitted: true, Status: 503, Code: petcat.CodeServiceUnavailable}, petcat.UsageCounts{Requests: 1, Failed: 1}},
		"failed":              {Request{Account: 7, Key: 1, Status: 503, Code: petcat.CodeServiceUnavailable}, petcat.UsageCounts{Failed: 1}},
		"minute":              {Request{Account: 7, Key: 1, Status: 429, Code: petcat.CodeRateLimitExceeded, Bytes: 9}, petcat.UsageCounts{MinuteRefused: 1, Bytes: 9}},
		"day":                 {Request{Account: 7, Key: 1, Status: 429, Code: petcat.CodeDailyQuotaExceeded}, petcat.UsageCounts{DayRefused: 1}},
		"ban":                 {Request{Account: 7, Key: 1, Status: 429, Code: petcat.CodeKeyBanned}, petcat.UsageCounts{BanRefused: 1}},
		"free":                {Request{Account: 7, Key: 1, Status: 200, Bytes: 5}, petcat.UsageCounts{Bytes: 5}},
		"wrong key":           {Request{Status: 401, Code: petcat.CodeInvalidAPIKey}, petcat.UsageCounts{KeyRefused: 1}},
		"no key":              {Request{Status: 401, Code: petcat.CodeMissingAPIKey}, petcat.UsageCounts{KeyRefused: 1}},
		"guessing":            {Request{Status: 429, Code: petcat.CodeTooManyFailedAttempts}, petcat.UsageCounts{KeyRefused: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			r := start(clock.NewManual(noon), m, "a")
			c.request.At = noon
			r.Count(c.request)
			r.Flush(t.Context())
			if diff := cmp.Diff(c.want, m.total(c.request.Account)); diff != "" {
				t.Errorf("of its account (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, m.total(petcat.AllAccounts)); diff != "" {
				t.Errorf("of all accounts (-want +got):\n%s", diff)
			}
			if keys := m.batches[0].Keys; c.request.Key != 0 != (len(keys) == 1 && keys[0] == petcat.KeyUse{Key: 1, At: noon}) {
				t.Errorf("the keys are %v", keys)
			}
		})
	}
}

// TestCountInParallel: no request is lost or counted twice while others are taken.
func TestCountInParallel(t *testing.T) {
	const workers, each = 8, 5_000
	m := &memory{}
	r := start(clock.NewManual(noon), m, "a")
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for n := range each {
				r.Count(Request{At: noon.Add(time.Duration(n) * time.Second), Account: petcat.AccountID(1 + (n+w)%70), Key: 1, Admitted: true})
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for flushing := true; flushing; {
		select {
		case <-done:
			flushing = false
		default:
		}
		r.Flush(t.Context())
	}
	if got := m.total(petcat.AllAccounts).Requests; got != workers*each {
		t.Errorf("%d requests are written, want %d", got, workers*each)
	}
	var sum int64
	for a := range petcat.AccountID(70) {
		sum += m.total(a + 1).Requests
	}
	if sum != workers*each {
		t.Errorf("%d requests of accounts are written, want %d", sum, workers*each)
	}
}

func TestCountAllocatesNothing(t *testing.T) {
	m := &memory{}
	r := start(clock.NewManual(noon), m, "a")
	request := Request{At: noon, Account: 7, Key: 1, Admitted: true, Status: 200, Bytes: 5}
	r.Count(request)
	if n := testing.AllocsPerRun(100, func() { r.Count(request) }); n != 0 {
		t.Errorf("counting allocates %v times", n)
	}
}

// TestStoreIsAway: what waits is bounded by the accounts and hours, not by the requests,
// and nothing of it is lost.
func TestStoreIsAway(t *testing.T) {
	c := clock.NewManual(noon)
	m := &memory{away: true}
	r := start(c, m, "a")
	const accounts, hours = 40, 3
	requests := 0
	for range hours * 60 * 60 {
		for a := range petcat.AccountID(accounts) {
			// All of one shard.
			r.Count(Request{At: c.Read().Time(), Account: (a + 1) * shards, Key: petcat.KeyID(a + 1), Admitted: true})
			requests++
		}
		r.Flush(t.Context())
		c.Advance(time.Second)
	}
	waiting := 0
	for i := range r.shards {
		waiting += len(r.shards[i].counts.values)
	}
	if most := coarseAt + accounts*hours; waiting > most {
		t.Errorf("%d counts wait, want %d at most", waiting, most)
	}
	if behind := r.Unsaved(); behind != hours*time.Hour {
		t.Errorf("nothing is written for %s, and it says %s", hours*time.Hour, behind)
	}
	m.away = false
	r.Flush(t.Context())
	r.Flush(t.Context())
	if got := m.total(petcat.AllAccounts).Requests; got != int64(requests) {
		t.Errorf("%d requests are written, want %d", got, requests)
	}
	if behind := r.Unsaved(); behind != 0 {
		t.Errorf("everything is written, and it says not for %s", behind)
	}
}

// TestBatches: what is large goes in several batches, and only behind the last one
// nothing is missing.
func TestBatches(t *testing.T) {
	c := clock.NewManual(noon)
	m := &memory{}
	r := start(c, m, "a")
	c.Advance(time.Second)
	const accounts = 2*batchCounts + 100
	for a := range petcat.AccountID(accounts) {
		r.Count(Request{At: noon, Account: a + 1, Key: petcat.KeyID(a + 1), Admitted: true})
	}
	r.Flush(t.Context())
	if len(m.batches) != 3 || m.total(petcat.AllAccounts).Requests != accounts {
		t.Fatalf("%d batches hold %d requests", len(m.batches), m.total(petcat.AllAccounts).Requests)
	}
	for i, b := range m.batches {
		want := noon
		if i == 2 {
			want = noon.Add(time.Second)
		}
		if b.Number != int64(i+1) || !b.Until.Equal(want) || len(b.Counts) > batchCounts || len(b.Keys) > batchCounts {
			t.Errorf("batch %d has the number %d and %d counts until %s", i+1, b.Number, len(b.Counts), b.Until)
		}
	}
}

// TestSignsOfLife: a node that counts nothing says now and then that it is there, and
// says when it ends.
func TestSignsOfLife(t *testing.T) {
	c := clock.NewManual(noon)
	m := &memory{}
	r := start(c, m, "a")
	for range 120 {
		r.Flush(t.Context())
		c.Advance(time.Second)
	}
	if len(m.batches) != 4 {
		t.Errorf("in two minutes it said %d times that it is there, want 4", len(m.batches))
	}
	r.Close(t.Context())
	if last := m.batches[len(m.batches)-1]; !last.Ended {
		t.Errorf("in the end it wrote %+v", last)
	}
}

// TestInterruptedWrite: a write that the end of the node interrupts is no fault of the store.
// Close writes what it left, or says that it could not.
func TestInterruptedWrite(t *testing.T) {
	var log strings.Builder
	m := &memory{away: true}
	r := New(Options{Node: "a", Clock: clock.NewManual(noon), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r.Open(m)
	r.Count(Request{At: noon, Account: 7, Admitted: true})
	ended, end := context.WithCancel(t.Context())
	end()
	r.Flush(ended)
	if log.Len() > 0 {
		t.Errorf("an interrupted write is logged: %s", &log)
	}
	r.Close(ended)
	if !strings.Contains(log.String(), "may lack what was counted last") {
		t.Errorf("what could not be written is logged as %q", &log)
	}
	m.away = false
	log.Reset()
	r.Close(t.Context())
	if got := m.total(7).Requests; got != 1 || log.Len() > 0 {
		t.Errorf("Close wrote %d requests, and logged %q", got, &log)
	}
}

func TestCloseWithoutStore(t *testing.T) {
	New(Options{Node: "a", Clock: clock.NewManual(noon)}).Close(t.Context())
}

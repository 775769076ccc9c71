package ratelimit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// These tests compare a node's counts with the counters' last response: in silence, its decisions
// continue from there.

// late are counters whose responses take a while to arrive.
type late struct {
	*scripted

	back []time.Duration // of the next responses; guarded by counters.mu
}

func (l *late) Charge(ctx context.Context, charges []petcat.QuotaCharge) ([]petcat.QuotaCount, error) {
	counts, err := l.scripted.Charge(ctx, charges)
	l.mu.Lock()
	var back time.Duration
	if len(l.back) > 0 {
		back, l.back = l.back[0], l.back[1:]
	}
	l.mu.Unlock()
	time.Sleep(back)
	return counts, err
}

// Two calls overlap around the end of a minute. The order of their responses does not matter: memory
// keeps the newer one.
func TestResponsesOutOfOrder(t *testing.T) {
	for name, back := range map[string][]time.Duration{
		"in order":     {20 * time.Millisecond, 30 * time.Millisecond},
		"out of order": {40 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sharing(t, func(t *testing.T, _ *service, c *scripted) {
				l := &late{scripted: c}
				s := &service{t: t, Limiter: newShared(c.clock, l)}
				charge := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
				for range 3 {
					s.spend(charge)
				}
				time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute - 5*time.Millisecond)))
				c.mu.Lock()
				l.back = back
				c.mu.Unlock()
				var both sync.WaitGroup
				for i, used := range []int64{4, 1} {
					both.Go(func() {
						time.Sleep(time.Duration(i) * 10 * time.Millisecond)
						if d, err := s.Spend(t.Context(), charge); err != nil || d.Minute.Used != used {
							t.Errorf("call %d: %d used, %v; want %d", i, d.Minute.Used, err, used)
						}
					})
				}
				both.Wait()
				c.set(hangs)
				d := s.spend(charge)
				wantEqual(t, "the newest revision", 0, d.Newest) // memory decided
				wantEqual(t, "used in the minute", 2, d.Minute.Used)
				wantEqual(t, "used on the day", 6, d.Day.Used)
				s.Close()
			})
		})
	}
}

// If the counters' clock is set back, memory follows their next response.
func TestCountersClockIsSetBack(t *testing.T) {
	for _, by := range []time.Duration{time.Second, 5 * time.Second, 5 * time.Minute} {
		t.Run(by.String(), func(t *testing.T) {
			sharing(t, func(t *testing.T, s *service, c *scripted) {
				ahead := &stepped{of: c.clock, by: by}
				c.clock = ahead
				charge := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
				for range 3 {
					s.spend(charge)
				}
				c.mu.Lock()
				ahead.by = 0
				c.used[1] = petcat.QuotaCount{Now: time.Now().UnixNano(), MinuteUsed: 9, DayUsed: 9}
				c.mu.Unlock()
				s.spend(charge)
				c.set(hangs)
				d := s.spend(charge)
				wantEqual(t, "the newest revision", 0, d.Newest) // memory decided
				wantEqual(t, "used in the minute", 11, d.Minute.Used)
			})
		})
	}
}

// After silence, memory keeps its own counts if they are larger: the counters do not know the requests
// that it allowed.
func TestMemoryKeepsLargerCounts(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		charge := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		s.spend(charge)
		c.set(hangs)
		for range 5 {
			s.spend(charge)
		}
		c.set(well)
		time.Sleep(2 * time.Second)
		wantEqual(t, "counted by the counters", 2, s.spend(charge).Minute.Used)
		c.set(hangs)
		d := s.spend(charge)
		wantEqual(t, "used in the minute", 7, d.Minute.Used)
		wantEqual(t, "used on the day", 7, d.Day.Used)
	})
}

// stepped is a clock that is ahead.
type stepped struct {
	of clock.Clock
	by time.Duration
}

func (s *stepped) Read() clock.Reading {
	r := s.of.Read()
	r.Wall += int64(s.by)
	return r
}

// In silence, a node whose clock is behind the counters' clock stays in their minute.
func TestMemoryStaysInCountersMinute(t *testing.T) {
	sharing(t, func(t *testing.T, s *service, c *scripted) {
		c.clock = &stepped{of: c.clock, by: 5 * time.Second}
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute - 3*time.Second)))
		charge := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		for range 3 {
			s.spend(charge)
		}
		c.set(hangs)
		d := s.spend(charge)
		wantEqual(t, "the newest revision", 0, d.Newest) // memory decided
		wantEqual(t, "used in the minute", 4, d.Minute.Used)
	})
}

// Two requests may read the day's usage from the history at the same time. Neither loses the other one's
// charge.
func TestDayIsReadTwice(t *testing.T) {
	var l *ratelimit.Limiter
	charge := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
	reads := 0
	spend := func() int64 {
		d, err := l.Spend(t.Context(), charge)
		wantEqual(t, "the error", nil, err)
		return d.Day.Used
	}
	l = ratelimit.New(ratelimit.Options{
		Clock: clocktest.NewManual(noon),
		DayUsed: func(context.Context, petcat.AccountID, int64) (int64, error) {
			if reads++; reads == 1 {
				wantEqual(t, "used by the other request", 6, spend())
			}
			return 5, nil
		},
	})
	defer l.Close()
	wantEqual(t, "used", 7, spend())
	wantEqual(t, "reads", 2, reads)
}

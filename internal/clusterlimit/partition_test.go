package clusterlimit

import (
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counterstest"
)

// TestCountersDecideAgain: after an outage the counters decide alone again when they have
// answered for a second, and this node has nothing left to report.
func TestCountersDecideAgain(t *testing.T) {
	t.Parallel()
	for unreported, want := range map[bool]time.Duration{false: halfOpenFor, true: halfOpenFor + probeEvery} {
		synctest.Test(t, func(t *testing.T) {
			c := &breakable{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })}
			l := testNodeWith(t, Options{Counters: c, Clock: clock.NewSystem()})
			p := l.partitions[0]
			if s := l.Stats(); s.Degraded {
				t.Errorf("before the outage: %+v", s)
			}
			c.away.Store(true)
			time.Sleep(time.Second)
			if s := l.Stats(); !s.Degraded || p.state.Load().mode != open {
				t.Errorf("in the outage: %+v", s)
			}
			c.away.Store(false)
			for p.state.Load().mode == open {
				time.Sleep(time.Millisecond)
			}
			back := time.Now()
			time.Sleep(halfOpenFor - probeEvery/2)
			if unreported {
				p.report(1) // it is told when the next probe is answered
			}
			for p.state.Load().mode == halfOpen && time.Since(back) < time.Minute {
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(back).Round(probeEvery / 10); took != want {
				t.Errorf("something to report: %v: the counters decide alone again after %s, want %s", unreported, took, want)
			}
		})
	}
}

// TestReportInAnotherEpoch: what a node has admitted by itself is reported in the epoch that
// holds, where the call found that another one is over.
func TestReportInAnotherEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWork(0)
		l := testNode(t, w, petcat.BansOff)
		time.Sleep(probeEvery / 2) // no probe is the first to find what follows
		w.Empty(0)
		p := l.partitions[0]
		l.accounts.with(1, func(a *account) {
			a.rollOver(time.Now().UnixNano())
			a.unreported = 3
		})
		p.report(1)
		p.flush(t.Context())
		if used := w.Account(1).Used; used != 3 {
			t.Errorf("%d are reported, want 3", used)
		}
		l.accounts.with(1, func(a *account) {
			if a.unreported != 0 {
				t.Errorf("%d are to be reported still", a.unreported)
			}
		})
		if calls := w.calls.Load(); calls != 2 {
			t.Errorf("%d calls, want 2", calls)
		}
	})
}

package server

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/clock"
	"petcat/internal/clusterlimit"
	"petcat/internal/counters"
)

// slowRegistry answers each heartbeat.
type slowRegistry func(cutOff uint64) ([]counters.Member, error)

func (r slowRegistry) Beat(_ context.Context, _ string, cutOff uint64) ([]counters.Member, error) {
	return r(cutOff)
}

func (slowRegistry) Leave(context.Context, string) error { return nil }

// TestMembership: what a node says of itself goes with each beat, and what it was
// told last holds while the database does not answer.
func TestMembership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewSystem()
		var said atomic.Uint64
		var failing atomic.Bool
		others := []counters.Member{{ID: "a"}, {ID: "b", Seen: serves + time.Millisecond}, {ID: "c", CutOff: 4}}
		r := slowRegistry(func(cutOff uint64) ([]counters.Member, error) {
			said.Store(cutOff)
			time.Sleep(100 * time.Millisecond)
			if failing.Load() {
				return nil, errors.New("no answer")
			}
			return others, nil
		})
		failing.Store(true)
		m := startMembership(t.Context(), r, membershipOptions{id: "a", clock: c, logger: slog.New(slog.DiscardHandler)})
		wantMembership := func(when string, want clusterlimit.Membership) {
			t.Helper()
			if diff := cmp.Diff(want, *m.current(), cmp.AllowUnexported(want)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		first := clusterlimit.Membership{Self: "a", Members: []counters.Member{{Joined: time.Hour}}}
		wantMembership("before the first answer", first)
		failing.Store(false)
		time.Sleep(2*time.Second + time.Millisecond)
		wantMembership("while it is asked", first)
		time.Sleep(100 * time.Millisecond)
		told := clusterlimit.Membership{ReadAt: c.Read().Mono - int64(time.Millisecond), Self: "a", Members: others}
		wantMembership("after the answer", told)
		if m.count() != 2 {
			t.Errorf("%d nodes serve, want 2", m.count())
		}
		failing.Store(true)
		m.reportCutOff(func() uint64 { return 5 })
		time.Sleep(2 * time.Second)
		wantMembership("while it does not answer", told)
		if said := said.Load(); said != 5 {
			t.Errorf("it said that it cannot reach %b, want 101", said)
		}
		m.close(t.Context())
	})
}

// TestMembershipIsQuickWhileCutOff: while a node is cut off from the counters, all beat
// four times as often, so that all soon know when it is back.
func TestMembershipIsQuickWhileCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int64
		var self, other atomic.Uint64
		r := slowRegistry(func(uint64) ([]counters.Member, error) {
			beats.Add(1)
			return []counters.Member{{ID: "a"}, {ID: "b", CutOff: other.Load()}}, nil
		})
		m := startMembership(t.Context(), r, membershipOptions{id: "a", clock: clock.NewSystem(), logger: slog.New(slog.DiscardHandler)})
		defer m.close(t.Context())
		m.reportCutOff(self.Load)
		beatsIn10s := func(when string, want int64) {
			t.Helper()
			time.Sleep(3*time.Second + time.Millisecond) // it learns of what has changed
			beats.Store(0)
			time.Sleep(10 * time.Second)
			if n := beats.Load(); n != want {
				t.Errorf("%s: %d beats in 10 s, want %d", when, n, want)
			}
		}
		beatsIn10s("all is well", 5)
		self.Store(1)
		beatsIn10s("it is cut off", 20)
		self.Store(0)
		other.Store(1 << 63)
		beatsIn10s("another one is cut off", 20)
		other.Store(0)
		beatsIn10s("all is well again", 5)
	})
}

// TestMembershipOfOne: where there can be only one node, nobody is told of.
func TestMembershipOfOne(t *testing.T) {
	t.Parallel()
	m := startMembership(t.Context(), nil, membershipOptions{id: "a", clock: clock.NewSystem()})
	defer m.close(t.Context())
	if diff := cmp.Diff(clusterlimit.Membership{Self: "a"}, *m.current(), cmp.AllowUnexported(clusterlimit.Membership{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package clusterlimit

import (
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/ratelimit"
)

// TestSharesOfNewNodes: where no node was there when the minute began, the shares of
// those that came together add up to the quota, whoever heard of whom first. Before they
// can have heard of each other, each shares with those that it knows.
func TestSharesOfNewNodes(t *testing.T) {
	t.Parallel()
	joined := map[string]time.Duration{"a": 0, "b": time.Second, "c": 2 * time.Second, "late": 4 * time.Second}
	const began = int64(time.Hour)
	for _, tc := range []struct {
		at   time.Duration // since a joined
		want map[string]share
	}{
		{0, map[string]share{"a": {0, 1}}},
		{time.Second, map[string]share{"a": {0, 2}, "b": {1, 2}}},
		{4 * time.Second, map[string]share{"a": {0, 4}, "b": {1, 4}, "c": {2, 4}, "late": {3, 4}}},
		{5 * time.Second, map[string]share{"a": {0, 3}, "b": {1, 3}, "c": {2, 3}}},
		{40 * time.Second, map[string]share{"a": {0, 3}, "b": {1, 3}, "c": {2, 3}}},
	} {
		for self := range joined {
			m := Membership{ReadAt: began + int64(10*time.Second+tc.at), Self: self}
			for id, at := range joined {
				if at <= tc.at {
					m.Members = append(m.Members, counters.Member{ID: id, Joined: tc.at - at})
				}
			}
			if len(m.Members) == 0 || joined[self] > tc.at {
				continue
			}
			if got := m.own(began); got != tc.want[self] {
				t.Errorf("%s after %s: share %+v, want %+v", self, tc.at, got, tc.want[self])
			}
		}
	}
}

// A call was late, and the counters have answered a probe since: who waited for the
// call has a share all the same, and so has who is alone later in that minute.
func TestShareAfterLateCall(t *testing.T) {
	t.Parallel()
	const mono, now, quota = int64(time.Hour), int64(2 * time.Hour), 60
	for name, s := range map[string]state{
		"closed again": {mode: closed, since: mono, epoch: counters.Epoch{ID: 1, Began: now - int64(time.Hour)}},
		"half-open":    {mode: halfOpen, since: mono, epoch: counters.Epoch{ID: 1, Began: now - int64(time.Hour)}},
		"open":         {mode: open, since: mono},
	} {
		a := &account{}
		v := newView(s, &Membership{}, 0, mono, now, quota)
		if !a.spendLocally(v, quota, -1, true) || a.budget != quota {
			t.Errorf("%s: refused within a budget of %d", name, a.budget)
		}
	}
}

// threeNodes returns the membership of the first of three nodes, the last of which says that
// it cannot reach some partitions.
func threeNodes(c clock.Clock, cutOff uint64) func() *Membership {
	return func() *Membership {
		m := &Membership{ReadAt: c.Read().Mono, Self: "a"}
		for _, id := range []string{"a", "b", "c"} {
			m.Members = append(m.Members, counters.Member{ID: id, Joined: time.Hour})
		}
		m.Members[2].CutOff = cutOff
		return m
	}
}

// TestRoomIsLeft: while a node says that it is cut off, the others leave its share to it.
func TestRoomIsLeft(t *testing.T) {
	t.Parallel()
	for cutOff, want := range map[uint64]int64{0: 60, 1: 40} {
		synctest.Test(t, func(t *testing.T) {
			system := clock.NewSystem()
			l := testNodeWith(t, Options{
				Counters: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), Clock: system, Membership: threeNodes(system, cutOff),
			})
			var admitted int64
			for range 100 {
				d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}})
				if err != nil {
					t.Fatal(err)
				}
				if d.Verdict == ratelimit.Admitted {
					admitted++
					if left := want - admitted; d.Minute.Remaining != left || d.ByShare != (cutOff != 0) {
						t.Fatalf("cut off %b: after %d were admitted, it is told %+v; want %d left", cutOff, admitted, d, left)
					}
				}
			}
			if admitted != want {
				t.Errorf("cut off %b: %d were admitted, want %d", cutOff, admitted, want)
			}
		})
	}
}

package clusterlimit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestWaitOfNewNodes: a node waits longer for the counters for as long as it has no share.
func TestWaitOfNewNodes(t *testing.T) {
	t.Parallel()
	const began, timeout = int64(time.Hour), 50 * time.Millisecond
	for name, tc := range map[string]struct {
		joined, first time.Duration // before the minute began: this node, and the first of the others
		want          time.Duration
	}{
		"of a cluster":         {time.Hour, 2 * time.Hour, timeout},
		"for just long enough": {settleBefore, time.Hour, timeout},
		"a moment too late":    {settleBefore - 1, time.Hour, 4 * timeout},
		"in the minute":        {-10 * time.Second, time.Hour, 4 * timeout},
		"with the others":      {-11 * time.Second, -10 * time.Second, timeout},
		"long after them":      {-15 * time.Second, -5 * time.Second, 4 * timeout},
		"alone":                {-10 * time.Second, 0, timeout},
	} {
		const later = 20 * time.Second // since the minute began
		m := Membership{ReadAt: began + int64(later), Self: "b", Members: []counters.Member{{ID: "b", Joined: later + tc.joined}}}
		if tc.first != 0 {
			m.Members = append(m.Members, counters.Member{ID: "a", Joined: later + tc.first})
		}
		if got := m.wait(began, timeout); got != tc.want {
			t.Errorf("a node that joined %s: it waits %s, want %s", name, got, tc.want)
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

// TestShareOf: the shares of all nodes add up to the whole, and none has more than one more
// than another.
func TestShareOf(t *testing.T) {
	t.Parallel()
	if n := (share{}).of(60); n != 0 {
		t.Errorf("a node without a share has %d", n)
	}
	for nodes := range int64(6) {
		for n := range int64(20) {
			var sum int64
			for rank := range nodes {
				part := share{rank, nodes}.of(n)
				if sum += part; part < n/nodes || part > n/nodes+1 {
					t.Errorf("node %d of %d has %d of %d", rank, nodes, part, n)
				}
			}
			if nodes > 0 && sum != n {
				t.Errorf("%d nodes have %d of %d", nodes, sum, n)
			}
		}
	}
}

// TestWhoHasAShare: the nodes that had joined early enough before the minute, and were heard
// recently enough.
func TestWhoHasAShare(t *testing.T) {
	t.Parallel()
	const (
		began  = int64(time.Hour)
		silent = 30 * time.Second
	)
	for name, tc := range map[string]struct {
		read    time.Duration // after the minute began
		joined  time.Duration // b, before it was read
		seen    time.Duration // b, before it was read
		aJoined time.Duration // before it was read
		want    map[string]share
	}{
		"both":                                            {10 * time.Second, time.Hour, 0, time.Hour, map[string]share{"a": {0, 2}, "b": {1, 2}}},
		"b was heard before the minute":                   {10 * time.Second, time.Hour, silent + 10*time.Second, time.Hour, map[string]share{"a": {0, 2}, "b": {1, 2}}},
		"b was not heard for long":                        {10 * time.Second, time.Hour, silent + 10*time.Second + 1, time.Hour, map[string]share{"a": {0, 1}}},
		"what was read is old, b was heard":               {-10 * time.Second, time.Hour, silent, time.Hour, map[string]share{"a": {0, 2}, "b": {1, 2}}},
		"it is old, and b was not":                        {-10 * time.Second, time.Hour, silent + 1, time.Hour, map[string]share{"a": {0, 1}}},
		"b came early enough":                             {10 * time.Second, 10*time.Second + settleBefore, 0, time.Hour, map[string]share{"a": {0, 2}, "b": {1, 2}}},
		"b came too late":                                 {10 * time.Second, 10*time.Second + settleBefore - 1, 0, time.Hour, map[string]share{"a": {0, 1}}},
		"b came too late, a just in time":                 {10 * time.Second, 10*time.Second + settleBefore - 1, 0, 10*time.Second + settleBefore, map[string]share{"a": {0, 1}}},
		"both came too late, one shortly after the other": {10 * time.Second, 10 * time.Second, 0, 12 * time.Second, map[string]share{"a": {0, 2}, "b": {1, 2}}},
	} {
		m := &Membership{ReadAt: began + int64(tc.read), Self: "a", Members: []counters.Member{
			{ID: "a", Joined: tc.aJoined, Seen: time.Hour}, // a node does not wait to hear itself
			{ID: "b", Joined: tc.joined, Seen: tc.seen},
		}}
		if diff := cmp.Diff(tc.want, m.shares(began, silent), cmp.AllowUnexported(share{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRoom: what is left to nodes that say that they cannot reach a partition, and how soon
// the others ask again whether they still do.
func TestRoom(t *testing.T) {
	t.Parallel()
	const (
		mono  = int64(time.Hour)
		began = mono - int64(10*time.Second)
	)
	for name, tc := range map[string]struct {
		read                time.Duration // ago
		own                 uint64        // what this node cannot reach
		first, second       uint64        // what the others say that they cannot
		firstSeen, lastSeen time.Duration
		want                int64
		heartbeat           time.Duration
	}{
		"nobody":                       {0, 0, 0, 0, 0, 0, 0, heartbeat},
		"one":                          {0, 0, 0, 2, 0, 0, 20, heartbeatCutOff},
		"two":                          {0, 0, 2, 6, 0, 0, 40, heartbeatCutOff},
		"one, from another partition":  {0, 0, 0, 5, 0, 0, 0, heartbeatCutOff},
		"two, one from another":        {0, 0, 1, 2, 0, 0, 20, heartbeatCutOff},
		"this one":                     {0, 2, 0, 0, 0, 0, 0, heartbeatCutOff},
		"this one, and another":        {0, 2, 0, 2, 0, 0, 20, heartbeatCutOff},
		"one that is silent":           {0, 0, 0, 2, 0, silentForRoom, 20, heartbeatCutOff},
		"one that is silent for long":  {0, 0, 0, 2, 0, silentForRoom + 1, 0, heartbeat},
		"two, one is silent for long":  {0, 0, 2, 2, silentForRoom + 1, 0, 20, heartbeatCutOff},
		"one, as was read a while ago": {silentFor, 0, 0, 2, 0, 0, 20, heartbeatCutOff},
		"one, as was read long ago":    {silentFor + 1, 0, 0, 2, 0, 0, 0, heartbeatCutOff},
	} {
		m := &Membership{ReadAt: mono - int64(tc.read), Self: "a", Members: []counters.Member{
			{ID: "a", Joined: 24 * time.Hour, CutOff: tc.own},
			{ID: "b", Joined: 24 * time.Hour, CutOff: tc.first, Seen: tc.firstSeen},
			{ID: "c", Joined: 24 * time.Hour, CutOff: tc.second, Seen: tc.lastSeen},
		}}
		if got := m.room(1, 60, began, mono); got != tc.want {
			t.Errorf("%s: room for %d, want %d", name, got, tc.want)
		}
		if got := m.UntilHeartbeat(tc.own); got != tc.heartbeat {
			t.Errorf("%s: the next heartbeat is due after %s, want %s", name, got, tc.heartbeat)
		}
	}
}

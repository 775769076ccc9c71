package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/clock"
	"petcat/internal/clusterlimit"
	"petcat/internal/counters"
	"petcat/internal/postgres"
)

// TestMembership: what a node says of itself goes with each beat, and what it was
// told last holds while the database does not answer.
func TestMembership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewSystem()
		var said uint64
		var failing error
		others := []counters.Member{{ID: "a"}, {ID: "b", Seen: postgres.NodeServes + time.Millisecond}, {ID: "c", CutOff: 4}}
		b := &backing{beat: func(_ context.Context, cutOff uint64) ([]counters.Member, error) {
			said = cutOff
			time.Sleep(100 * time.Millisecond)
			return others, failing
		}}
		failing = errors.New("no answer")
		n := startNodes(t.Context(), b, opening{node: "a", clock: c, logger: slog.New(slog.DiscardHandler)})
		wantMembership := func(when string, want clusterlimit.Membership) {
			t.Helper()
			if diff := cmp.Diff(want, *n.membership(), cmp.AllowUnexported(want)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		first := clusterlimit.Membership{Self: "a", Members: []counters.Member{{Joined: time.Hour}}}
		wantMembership("before the first answer", first)
		failing = nil
		time.Sleep(postgres.NodeBeat + time.Millisecond)
		wantMembership("while it is asked", first)
		time.Sleep(100 * time.Millisecond)
		told := clusterlimit.Membership{ReadAt: c.Read().Mono - int64(time.Millisecond), Self: "a", Members: others}
		wantMembership("after the answer", told)
		if n.count() != 2 {
			t.Errorf("%d nodes serve, want 2", n.count())
		}
		failing = errors.New("no answer")
		n.say(func() uint64 { return 5 })
		time.Sleep(postgres.NodeBeat)
		wantMembership("while it does not answer", told)
		if said != 5 {
			t.Errorf("it said that it cannot reach %b, want 101", said)
		}
		n.close(t.Context())
	})
}

// TestMembershipOfOne: where there can be only one node, nobody is told of.
func TestMembershipOfOne(t *testing.T) {
	t.Parallel()
	n := startNodes(t.Context(), &backing{}, opening{node: "a", clock: clock.NewSystem()})
	defer n.close(t.Context())
	if diff := cmp.Diff(clusterlimit.Membership{Self: "a"}, *n.membership(), cmp.AllowUnexported(clusterlimit.Membership{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package postgres

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petcat/internal/counters"
)

// beat returns what a node is told after it said who it is.
func beat(t testing.TB, s *Store, self counters.Member) []counters.Member {
	t.Helper()
	told, err := s.Beat(t.Context(), self.ID, self.CutOff)
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// wantMembers compares members, and their durations to the second: those of rows that
// were written just now are below one.
func wantMembers(t testing.TB, what string, got []counters.Member, want ...counters.Member) {
	t.Helper()
	toSeconds := cmp.Transformer("seconds", func(d time.Duration) int64 { return int64(d / time.Second) })
	if diff := cmp.Diff(want, got, toSeconds, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestBeat(t *testing.T) {
	url := server.Database(t)
	s, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	defer closeNow(t, s)
	defer closeNow(t, other)
	age := func(statement string) {
		t.Helper()
		server.Server(t).Execute(t, url, statement)
	}
	a, b := counters.Member{ID: "a"}, counters.Member{ID: "b"}
	wantMembers(t, "the first node", beat(t, s, a), a)
	wantMembers(t, "the second", beat(t, other, b), a, b)
	a.CutOff = math.MaxUint64
	beat(t, s, a)
	wantMembers(t, "a node that is cut off", beat(t, other, b), a, b)
	a = counters.Member{ID: "a"}
	beat(t, s, a)
	wantMembers(t, "a node that is no longer", beat(t, other, b), a, b)

	// Two nodes that were silent for a while.
	age(`UPDATE node SET joined_at = joined_at - interval '1 hour', seen_at = seen_at - interval '29 seconds'`)
	a.Joined, a.Seen = time.Hour, 29*time.Second
	b.Joined = time.Hour
	wantMembers(t, "after 29 s", beat(t, other, b), a, b)
	age(`UPDATE node SET seen_at = seen_at - interval '2 seconds'`)
	a.Joined, a.Seen = time.Hour, 31*time.Second
	wantMembers(t, "after 31 s", beat(t, other, b), a, b)
	told := beat(t, s, counters.Member{ID: "a"})
	if len(told) != 3 || !strings.HasPrefix(told[1].ID, "a until ") {
		t.Fatalf("a node that was silent for 31 s: %v", told)
	}
	earlier := counters.Member{ID: told[1].ID, Joined: time.Hour, Seen: 31 * time.Second}
	wantMembers(t, "a node that was silent for 31 s joins anew", beat(t, other, b), counters.Member{ID: "a"}, earlier, b)
	age(`UPDATE node SET seen_at = seen_at - interval '601 seconds' WHERE id LIKE 'a%'`)
	wantMembers(t, "after 601 s", beat(t, other, b), b)
	a.Joined, a.Seen = 0, 0
	wantMembers(t, "a node that was away for longer joins anew", beat(t, s, a), a, b)
	age(`UPDATE node SET seen_at = seen_at - interval '661 seconds' WHERE id LIKE 'a%'`)
	beat(t, other, b)
	age(`DO $$ BEGIN ASSERT (SELECT count(*) FROM node) = 1; END $$`)

	// The database's clock is set.
	for _, by := range []string{"- interval '1 hour'", "+ interval '1 hour'"} {
		age(`UPDATE node SET joined_at = joined_at ` + by + `, seen_at = seen_at ` + by)
		b.Joined = 0
		wantMembers(t, "a row of "+by, beat(t, other, b), b)
	}
	// An older version says less.
	age(`INSERT INTO node (id, seen_at) VALUES ('older', clock_timestamp())`)
	wantMembers(t, "an older version", beat(t, other, b), b, counters.Member{ID: "older"})
	for _, id := range []string{"b", "older"} {
		if err := s.Leave(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	wantMembers(t, "the others left", beat(t, s, a), a)
}

// TestBeatsAtOnce: of nodes that start at the same time, each two know of each other
// on one side at least, and whoever forgets the silent ones waits for nobody.
func TestBeatsAtOnce(t *testing.T) {
	url := server.Database(t)
	var stores [3]*Store
	for i := range stores {
		stores[i] = openAt(t, url, Options{})
		defer closeNow(t, stores[i])
	}
	names := [...]string{"a", "b", "c"}
	for range 30 {
		// All were silent for so long that each forgets the others.
		server.Server(t).Execute(t, url, `UPDATE node SET seen_at = seen_at - interval '2 minutes'`)
		var knows [3]map[string]bool
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i, s := range stores {
			wg.Go(func() {
				<-begin
				told, err := s.Beat(t.Context(), names[i], 0)
				if err != nil {
					t.Errorf("beat: %v", err)
				}
				knows[i] = make(map[string]bool)
				for _, m := range told {
					knows[i][m.ID] = true
				}
			})
		}
		close(begin)
		wg.Wait()
		for i := range stores {
			for j := range i {
				if !knows[i][names[j]] && !knows[j][names[i]] {
					t.Fatalf("neither of %s and %s knows of the other: %v", names[i], names[j], knows)
				}
			}
		}
	}
}

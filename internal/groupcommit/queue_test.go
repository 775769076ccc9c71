package groupcommit_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/clock"
	"petcat/internal/groupcommit"
)

func TestFullQueueRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit, Queue: 2})
		defer c.Close()
		running := submit(t.Context(), c, 0)
		waiting := []<-chan error{submit(t.Context(), c, 1), submit(t.Context(), c, 2)}
		wantRefused(t, c.Submit(t.Context(), 3), groupcommit.ErrFull)
		close(d.proceed)
		for _, result := range append(waiting, running) {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
	})
}

// Who floods the queue leaves room for the others, and for what is nobody's.
func TestQueueIsSharedByOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{
			Commit: d.commit, Queue: 12, MaxGroup: 4,
			Owner: func(op int) uint64 { return uint64(op / 100) },
		})
		defer c.Close()
		results := []<-chan error{submit(t.Context(), c, 100)} // under way, no longer in the queue
		// flood submits until it is refused, and returns how many were not.
		flood := func(owner, most int) (accepted int) {
			for ; accepted < most; accepted++ {
				result := submit(t.Context(), c, owner*100+accepted)
				if len(result) > 0 {
					wantRefused(t, <-result, groupcommit.ErrFull)
					return accepted
				}
				results = append(results, result)
			}
			return accepted
		}
		for _, step := range []struct{ owner, most, want int }{{1, 99, 6}, {2, 99, 3}, {1, 1, 0}, {3, 99, 2}, {0, 99, 1}, {4, 1, 0}} {
			if got := flood(step.owner, step.most); got != step.want {
				t.Errorf("owner %d: %d were accepted, want %d", step.owner, got, step.want)
			}
		}
		if c.Shed() != 6 {
			t.Errorf("%d were refused, want 6", c.Shed())
		}
		// A group leaves, and with it the share of those in it.
		d.proceed <- nil
		synctest.Wait()
		if got := flood(1, 99); got != 1 {
			t.Errorf("after a group of 4: %d were accepted, want 1", got)
		}
		close(d.proceed)
		for _, result := range results {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestShorterQueueHasRoomForOthers: when groups take longer, the queue may be too long already.
// Those who have less than their share of it have room all the same, for one group in all.
func TestShorterQueueHasRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nobody, flood, second, third, fourth = 0, 1, 2, 3, 4
		now := clock.NewManual(time.Unix(0, 0))
		takes := make(chan time.Duration)
		c := groupcommit.New(groupcommit.Options[int]{
			Commit:   func([]int) error { now.Advance(<-takes); return nil },
			Clock:    now,
			Owner:    func(op int) uint64 { return uint64(op) },
			Queue:    100,
			MaxGroup: 4,
			MaxWait:  time.Second,
		})
		defer c.Close()
		results := []<-chan error{submit(t.Context(), c, nobody)}
		takes <- 150 * time.Millisecond // the queue may hold six groups
		synctest.Wait()
		results = append(results, submit(t.Context(), c, nobody)) // under way, no longer in the queue
		wantAccepted := func(owner int, want bool) {
			t.Helper()
			result := submit(t.Context(), c, owner)
			if accepted := len(result) == 0; accepted != want {
				t.Fatalf("owner %d with %d in the queue: accepted %t, want %t", owner, c.Waiting(), accepted, want)
			}
			if want {
				results = append(results, result)
			} else {
				wantRefused(t, <-result, groupcommit.ErrFull)
			}
		}
		for range 12 {
			wantAccepted(flood, true)
		}
		wantAccepted(flood, false)
		wantAccepted(second, true)
		wantAccepted(second, true)
		takes <- 2 * time.Second // the queue may hold two groups; it holds ten operations
		synctest.Wait()
		wantAccepted(flood, false)
		wantAccepted(second, false)
		wantAccepted(third, true)
		wantAccepted(nobody, true)
		wantAccepted(fourth, false) // that would be more than a group
		close(takes)
		for _, result := range results {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestQueueHoldsWhatIsCommittedInTime: the queue becomes shorter when groups take longer,
// down to two groups, and longer again.
func TestQueueHoldsWhatIsCommittedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.NewManual(time.Unix(0, 0))
		takes := make(chan time.Duration)
		c := groupcommit.New(groupcommit.Options[int]{
			Commit:   func([]int) error { now.Advance(<-takes); return nil },
			Clock:    now,
			Queue:    20,
			MaxGroup: 2,
			MaxWait:  time.Second,
		})
		defer c.Close()
		pace := time.Duration(0)
		for _, step := range []struct {
			takes time.Duration
			room  int // then
		}{
			{0, 20},
			{250 * time.Millisecond, 8}, // the first that takes any time
			{250 * time.Millisecond, 8},
			{850 * time.Millisecond, 4}, // 400 ms on average
			{10 * time.Second, 4},       // 2.8 s
			{0, 4},
			{0, 4},
			{0, 4},
			{0, 4}, // 0.9 s
			{0, 4},
			{0, 4},
			{0, 4},
			{0, 6}, // 0.28 s
		} {
			if pace == 0 {
				pace = step.takes
			}
			pace += (step.takes - pace) / 4
			first := submit(t.Context(), c, 0)
			takes <- step.takes
			if err := <-first; err != nil {
				t.Fatal(err)
			}
			results := []<-chan error{submit(t.Context(), c, 0)} // under way, no longer in the queue
			accepted := 0
			for {
				result := submit(t.Context(), c, 0)
				if len(result) > 0 {
					wantRefused(t, <-result, groupcommit.ErrFull)
					break
				}
				results = append(results, result)
				accepted++
			}
			if accepted != step.room {
				t.Errorf("after a group that took %s the queue holds %d, want %d", step.takes, accepted, step.room)
			}
			for _, result := range results {
				for waits := true; waits; {
					select {
					case takes <- pace: // which changes nothing
					case err := <-result:
						if err != nil {
							t.Fatal(err)
						}
						waits = false
					}
				}
			}
		}
	})
}

// TestExpired: who has waited too long is told so when his turn comes, not when
// those are answered whose turn came at the same time.
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := errors.New("late")
		l := &lanes{begun: make(chan []int, 8), proceed: make(chan error)}
		c := start(groupcommit.Options[int]{Commit: l.commit, Expired: func(op int, _ clock.Reading) error {
			if op%2 == 1 {
				return late
			}
			return nil
		}})
		first := submit(t.Context(), c, 0)
		<-l.begun
		late1, timely, late3 := submit(t.Context(), c, 1), submit(t.Context(), c, 2), submit(t.Context(), c, 3)
		l.proceed <- nil
		synctest.Wait()
		if diff := cmp.Diff([]int{2}, <-l.begun); diff != "" {
			t.Errorf("the next group (-want +got):\n%s", diff)
		}
		for _, result := range []<-chan error{late1, late3} {
			select {
			case err := <-result:
				if !errors.Is(err, late) {
					t.Errorf("who was late got %v", err)
				}
			default:
				t.Error("who was late waits for the others")
			}
		}
		l.proceed <- nil
		for _, result := range []<-chan error{first, timely} {
			if err := <-result; err != nil {
				t.Errorf("who was not late got %v", err)
			}
		}
		if err := c.Submit(t.Context(), 5); !errors.Is(err, late) { // nobody else is in its group
			t.Errorf("who was late got %v", err)
		}
		c.Close()
	})
}

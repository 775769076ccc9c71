package groupcommit_test

import (
	"errors"
	"testing"
	"testing/synctest"

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
func TestOwnerHasHalfOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{
			Commit: d.commit, Queue: 12, MaxGroup: 4,
			Owner: func(op int) uint64 { return uint64(op / 100) },
		})
		defer c.Close()
		results := []<-chan error{submit(t.Context(), c, 100)} // under way, no longer in the queue
		// flood submits until it is refused, and returns how many were not.
		flood := func(owner int) (accepted int) {
			for ; ; accepted++ {
				result := submit(t.Context(), c, owner*100+accepted)
				if len(result) > 0 {
					wantRefused(t, <-result, groupcommit.ErrFull)
					return accepted
				}
				results = append(results, result)
			}
		}
		want := func(owner, want int) {
			t.Helper()
			if got := flood(owner); got != want {
				t.Errorf("owner %d: %d were accepted, want %d", owner, got, want)
			}
		}
		want(1, 6)
		want(2, 6)
		want(0, 0)
		d.proceed <- nil // a group leaves, and with it the share of those in it
		synctest.Wait()
		want(1, 4)
		want(0, 0)
		d.proceed <- nil
		synctest.Wait()
		want(0, 4)
		if c.Shed() != 6 {
			t.Errorf("%d were refused, want 6", c.Shed())
		}
		close(d.proceed)
		for _, result := range results {
			if err := <-result; err != nil {
				t.Error(err)
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

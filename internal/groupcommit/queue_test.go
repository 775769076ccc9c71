package groupcommit_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/groupcommit"
)

func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit, Line: groupcommit.NewLine(2)})
		defer c.Close()
		running := submit(t.Context(), c, 0)
		waiting := []<-chan error{submit(t.Context(), c, 1), submit(t.Context(), c, 2)}
		wantRejected(t, c.Submit(t.Context(), 3), groupcommit.ErrFull)
		close(d.proceed)
		for _, result := range append(waiting, running) {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestOwnerFillsHalfOfQueue: an owner that floods the queue leaves room for other operations.
func TestOwnerFillsHalfOfQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		line := groupcommit.NewLine(12)
		c := start(groupcommit.Options[int]{
			Commit:   d.commit,
			Line:     line,
			MaxGroup: 4,
			Owner:    func(op int) uint64 { return uint64(op / 100) },
		})
		defer c.Close()
		results := []<-chan error{submit(t.Context(), c, 100)} // being committed, not in the queue any more
		// flood submits until it is rejected, and returns the number of accepted operations.
		flood := func(owner int) (accepted int) {
			for ; ; accepted++ {
				result := submit(t.Context(), c, owner*100+accepted)
				if len(result) > 0 {
					wantRejected(t, <-result, groupcommit.ErrFull)
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
		d.proceed <- nil // a group leaves the queue
		synctest.Wait()
		want(1, 4)
		want(0, 0)
		d.proceed <- nil
		synctest.Wait()
		want(0, 4)
		if line.Shed() != 6 {
			t.Errorf("%d were rejected, want 6", line.Shed())
		}
		close(d.proceed)
		for _, result := range results {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestExpired: expired operations fail before their group is committed.
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
					t.Errorf("an expired operation got %v", err)
				}
			default:
				t.Error("an expired operation waits for the group")
			}
		}
		l.proceed <- nil
		for _, result := range []<-chan error{first, timely} {
			if err := <-result; err != nil {
				t.Errorf("another operation got %v", err)
			}
		}
		if err := c.Submit(t.Context(), 5); !errors.Is(err, late) { // its group is empty
			t.Errorf("an expired operation got %v", err)
		}
		c.Close()
	})
}

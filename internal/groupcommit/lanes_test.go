package groupcommit_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/groupcommit"
)

// lanes is a commit function for several groups at once, each of which waits to be
// let through.
type lanes struct {
	begun   chan []int
	proceed chan error
}

func (l *lanes) commit(group []int) error {
	l.begun <- append([]int(nil), group...)
	return <-l.proceed
}

func TestConcurrentGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lanes{begun: make(chan []int, 8), proceed: make(chan error)}
		c := start(groupcommit.Options[int]{Commit: l.commit, Concurrent: 2, MaxGroup: 2})
		var results []<-chan error
		for op := range 7 {
			results = append(results, submit(t.Context(), c, op))
		}
		if diff := cmp.Diff([][]int{{0}, {1}}, [][]int{<-l.begun, <-l.begun}); diff != "" {
			t.Errorf("groups under way at once (-want +got):\n%s", diff)
		}
		if len(l.begun) > 0 || c.Waiting() != 5 {
			t.Errorf("%d operations wait and %d more groups are under way, want 5 and none", c.Waiting(), len(l.begun))
		}
		// Both goroutines are let go at once: neither may find the queue empty after
		// the other has taken it, nor leave what did not fit to nobody.
		l.proceed <- nil
		l.proceed <- nil
		synctest.Wait()
		if diff := cmp.Diff([][]int{{2, 3}, {4, 5}}, [][]int{<-l.begun, <-l.begun}); diff != "" {
			t.Errorf("the next groups (-want +got):\n%s", diff)
		}
		closed := make(chan struct{})
		go func() {
			c.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed before its groups were committed")
		default:
		}
		close(l.proceed)
		<-closed
		synctest.Wait()
		for op, result := range results {
			select {
			case err := <-result:
				if err != nil {
					t.Errorf("operation %d: %v", op, err)
				}
			default:
				t.Errorf("operation %d was not answered", op)
			}
		}
	})
}

func TestConcurrentGroupsFailForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lanes{begun: make(chan []int, 8), proceed: make(chan error)}
		c := start(groupcommit.Options[int]{Commit: l.commit, Concurrent: 2, MaxGroup: 1})
		defer c.Close()
		results := []<-chan error{submit(t.Context(), c, 0), submit(t.Context(), c, 1), submit(t.Context(), c, 2)}
		// Two groups find out that nothing may be written; the third is not tried.
		l.proceed <- groupcommit.Poison(errors.New("first"))
		l.proceed <- groupcommit.Poison(errors.New("second"))
		for op, result := range results {
			if err := <-result; err == nil {
				t.Errorf("operation %d succeeded", op)
			}
		}
		if len(l.begun) != 2 {
			t.Errorf("%d groups were attempted, want 2", len(l.begun))
		}
		select {
		case <-c.Failed():
		default:
			t.Error("the committer does not say that it stopped for good")
		}
		wantRefused(t, c.Submit(t.Context(), 3), groupcommit.ErrStopped)
	})
}

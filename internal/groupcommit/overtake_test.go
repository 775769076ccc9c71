package groupcommit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat/internal/groupcommit"
)

// lanes is a commit function for concurrent groups that waits for the test to let each group through.
type lanes struct {
	begun   chan []int
	proceed chan error
}

func (l *lanes) commit(group []int) error {
	l.begun <- append([]int(nil), group...)
	return <-l.proceed
}

func TestOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const overtake = time.Second
		l := &lanes{begun: make(chan []int, 8), proceed: make(chan error)}
		c := start(groupcommit.Options[int]{Commit: l.commit, Overtake: overtake, MaxGroup: 2})
		var results []<-chan error
		want := func(what string, groups ...[]int) {
			t.Helper()
			synctest.Wait()
			var begun [][]int
			for len(l.begun) > 0 {
				begun = append(begun, <-l.begun)
			}
			if diff := cmp.Diff(groups, begun); diff != "" {
				t.Errorf("%s, groups that began (-want +got):\n%s", what, diff)
			}
		}
		for op := range 9 {
			results = append(results, submit(t.Context(), c, op))
		}
		want("at first", []int{0})
		time.Sleep(overtake - 1)
		want("before the first is overtaken")
		time.Sleep(time.Nanosecond)
		want("after the time to overtake", []int{1, 2})
		time.Sleep(2 * overtake)
		want("during two commits")
		l.proceed <- nil
		want("after one of them", []int{3, 4})
		time.Sleep(overtake / 2)
		l.proceed <- nil
		want("before the next time to overtake")
		l.proceed <- nil
		want("after both", []int{5, 6})
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
				t.Errorf("operation %d did not return", op)
			}
		}
	})
}

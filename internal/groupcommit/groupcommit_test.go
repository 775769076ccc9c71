package groupcommit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"petcat/internal/clock"
	"petcat/internal/groupcommit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a commit function under the test's control: each group waits to be
// let through.
type disk struct {
	proceed chan error
	groups  [][]int
}

func newDisk() *disk { return &disk{proceed: make(chan error)} }

func (d *disk) commit(group []int) error {
	d.groups = append(d.groups, append([]int(nil), group...))
	return <-d.proceed
}

func start(o groupcommit.Options[int]) *groupcommit.Committer[int] {
	o.Clock = clock.NewManual(time.Unix(0, 0))
	return groupcommit.New(o)
}

// submit starts a Submit and waits until it has reached the queue.
func submit(ctx context.Context, c *groupcommit.Committer[int], op int) <-chan error {
	result := make(chan error, 1)
	go func() { result <- c.Submit(ctx, op) }()
	synctest.Wait()
	return result
}

// wantRefused checks that an error is one after which nothing happened.
func wantRefused(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || !groupcommit.Refused(err) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func TestGroupsFormWhileTheLastOneCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		var observed []int
		c := start(groupcommit.Options[int]{Commit: d.commit, MaxGroup: 3, Observe: func(n int, _ time.Duration) { observed = append(observed, n) }})
		defer c.Close()
		var results []<-chan error
		for op := range 6 {
			results = append(results, submit(t.Context(), c, op))
		}
		if c.Waiting() != 5 {
			t.Errorf("%d operations wait, want 5", c.Waiting())
		}
		for range 3 {
			d.proceed <- nil
		}
		for op, result := range results {
			if err := <-result; err != nil {
				t.Errorf("operation %d: %v", op, err)
			}
		}
		if diff := cmp.Diff([][]int{{0}, {1, 2, 3}, {4, 5}}, d.groups); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
		synctest.Wait()
		if diff := cmp.Diff([]int{1, 3, 2}, observed); diff != "" {
			t.Errorf("observed (-want +got):\n%s", diff)
		}
	})
}

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

func TestCallerThatGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit})
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		result := submit(ctx, c, 1)
		cancel()
		err := <-result
		if !errors.Is(err, context.Canceled) || !errors.Is(err, groupcommit.ErrAbandoned) || groupcommit.Refused(err) {
			t.Errorf("got %v, want the cancellation, and no claim that nothing happened", err)
		}
		d.proceed <- nil
		// Its waiter must not be given to the next caller with the old result.
		next := submit(t.Context(), c, 2)
		select {
		case err := <-next:
			t.Fatalf("the next operation was answered before its commit: %v", err)
		default:
		}
		d.proceed <- nil
		if err := <-next; err != nil {
			t.Fatal(err)
		}
	})
}

func TestFailedGroupDoesNotStopTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit})
		defer c.Close()
		failure := errors.New("disk full")
		first := submit(t.Context(), c, 1)
		d.proceed <- failure
		if err := <-first; !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
		next := submit(t.Context(), c, 2)
		d.proceed <- nil
		if err := <-next; err != nil {
			t.Errorf("the next group: %v", err)
		}
	})
}

func TestPoisonStopsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit})
		defer c.Close()
		failure := errors.New("fsync failed")
		first := submit(t.Context(), c, 1)
		waiting := submit(t.Context(), c, 2)
		select {
		case <-c.Failed():
			t.Fatal("failed before anything did")
		default:
		}
		d.proceed <- groupcommit.Poison(failure)
		<-c.Failed()
		if err := <-first; !errors.Is(err, failure) || groupcommit.Refused(err) {
			t.Errorf("the group got %v, want %v", err, failure)
		}
		for _, err := range []error{<-waiting, c.Submit(t.Context(), 3)} {
			wantRefused(t, err, groupcommit.ErrStopped)
			if errors.Is(err, failure) {
				t.Errorf("%v says of one operation what is known of others", err)
			}
		}
		if len(d.groups) != 1 {
			t.Errorf("%d groups were attempted, want 1", len(d.groups))
		}
		if !errors.Is(c.Err(), failure) {
			t.Errorf("Err() = %v, want %v", c.Err(), failure)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit})
		running, waiting := submit(t.Context(), c, 1), submit(t.Context(), c, 2)
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		synctest.Wait()
		wantRefused(t, c.Submit(t.Context(), 3), groupcommit.ErrClosed)
		close(d.proceed)
		<-closed
		for _, result := range []<-chan error{running, waiting} {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
		c.Close()
	})
}

func TestParallelSubmitsGetTheirOwnResult(t *testing.T) {
	type operation struct{ in, out int }
	c := groupcommit.New(groupcommit.Options[*operation]{
		Clock: clock.NewSystem(),
		Commit: func(group []*operation) error {
			for _, op := range group {
				op.out = op.in * 2
			}
			return nil
		},
	})
	defer c.Close()
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 200 {
				op := &operation{in: g*1000 + i}
				if err := c.Submit(t.Context(), op); err != nil || op.out != op.in*2 {
					t.Errorf("operation %d: result %d, error %v", op.in, op.out, err)
				}
			}
		})
	}
	wg.Wait()
}

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

// TestFullGroups: those that are full do not wait for the others.
func TestFullGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lanes{begun: make(chan []int, 8), proceed: make(chan error)}
		c := start(groupcommit.Options[int]{Commit: l.commit, Concurrent: 1, ConcurrentFull: 3, MaxGroup: 2})
		var results []<-chan error
		begun := func(want ...[]int) {
			t.Helper()
			synctest.Wait()
			var got [][]int
			for len(l.begun) > 0 {
				got = append(got, <-l.begun)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("groups that began (-want +got):\n%s", diff)
			}
		}
		add := func(ops ...int) {
			for _, op := range ops {
				results = append(results, submit(t.Context(), c, op))
			}
		}
		add(0)
		begun([]int{0})
		add(1)
		begun()
		add(2)
		begun([]int{1, 2})
		add(3, 4)
		begun([]int{3, 4})
		add(5, 6, 7) // as many as may be are under way
		begun()
		l.proceed <- nil
		begun([]int{5, 6})
		l.proceed <- nil // two are left, and the last is not full
		begun()
		l.proceed <- nil
		begun()
		l.proceed <- nil
		begun([]int{7})
		close(l.proceed)
		c.Close()
		for op, result := range results {
			if err := <-result; err != nil {
				t.Errorf("operation %d: %v", op, err)
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

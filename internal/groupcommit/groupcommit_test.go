package groupcommit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/groupcommit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a commit function that waits for the test to let each group through.
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
	o.Clock = clocktest.NewManual(time.Unix(0, 0))
	if o.Line == nil {
		o.Line = groupcommit.NewLine(groupcommit.DefaultLine)
	}
	return groupcommit.New(o)
}

// submit starts a Submit and waits until it has reached the queue.
func submit(ctx context.Context, c *groupcommit.Committer[int], op int) <-chan error {
	result := make(chan error, 1)
	go func() { result <- c.Submit(ctx, op) }()
	synctest.Wait()
	return result
}

// wantRejected checks that an error is the wanted rejection.
func wantRejected(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func TestGroupsFormDuringCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		var observed []int
		line := groupcommit.NewLine(10)
		c := start(groupcommit.Options[int]{
			Commit:   d.commit,
			Line:     line,
			MaxGroup: 3,
			Observe:  func(n int, _ time.Duration) { observed = append(observed, n) },
		})
		defer c.Close()
		var results []<-chan error
		for op := range 6 {
			results = append(results, submit(t.Context(), c, op))
		}
		if line.Waiting() != 5 {
			t.Errorf("%d operations wait, want 5", line.Waiting())
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

func TestAbandonedOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit})
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		result := submit(ctx, c, 1)
		cancel()
		err := <-result
		if !errors.Is(err, context.Canceled) || !errors.Is(err, groupcommit.ErrAbandoned) {
			t.Errorf("got %v, want the cancellation", err)
		}
		d.proceed <- nil
		// The next caller must not get the result of the abandoned operation.
		next := submit(t.Context(), c, 2)
		select {
		case err := <-next:
			t.Fatalf("the next operation returned before its commit: %v", err)
		default:
		}
		d.proceed <- nil
		if err := <-next; err != nil {
			t.Fatal(err)
		}
	})
}

func TestCommitAfterFailedGroup(t *testing.T) {
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

func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := start(groupcommit.Options[int]{Commit: d.commit})
		running, waiting := submit(t.Context(), c, 1), submit(t.Context(), c, 2)
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		synctest.Wait()
		wantRejected(t, c.Submit(t.Context(), 3), groupcommit.ErrClosed)
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

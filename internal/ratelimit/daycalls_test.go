package ratelimit_test

import (
	"context"
	"testing"

	"petcat"
	"petcat/internal/ratelimit"
)

// forgetful is a store of days that answers too few leases, and takes no returns while it
// is away.
type forgetful struct {
	petcat.DayStore

	answers int
	away    error
	taken   []petcat.DayReturn
}

func (f *forgetful) LeaseDays(_ context.Context, _ petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	return make([]petcat.DayLeased, min(f.answers, len(leases))), f.away
}

func (f *forgetful) ReturnDays(_ context.Context, _ petcat.DayCall, returns []petcat.DayReturn) error {
	if f.away == nil {
		f.taken = append(f.taken, returns...)
	}
	return f.away
}

// An answer that lacks leases is none: the call is made again.
func TestLeasesAreAnsweredAll(t *testing.T) {
	t.Parallel()
	f := &forgetful{answers: 1}
	d := ratelimit.NewDayLeases[string](f)
	d.Add(petcat.DayLease{Account: 1}, "a")
	d.Add(petcat.DayLease{Account: 2}, "b")
	if whom, _, err := d.Ask(t.Context()); err == nil || len(d.Waiting()) != 2 {
		t.Errorf("one of two was answered: %v, %v; %v wait", whom, err, d.Waiting())
	}
	f.answers = 2
	if whom, got, err := d.Ask(t.Context()); err != nil || len(whom) != 2 || len(got) != 2 || len(d.Waiting()) != 0 {
		t.Errorf("both were answered: %v, %v, %v; %v wait", whom, got, err, d.Waiting())
	}
}

// The backlog of returns holds those of a call that was not answered, and those that came
// since.
func TestBacklogOfReturns(t *testing.T) {
	t.Parallel()
	f := &forgetful{away: errDisk}
	d := ratelimit.NewDayReturns(f)
	want := func(when string, backlog, taken int) {
		t.Helper()
		if d.Backlog() != backlog || len(f.taken) != taken {
			t.Errorf("%s: %d wait, and %d were taken; want %d and %d", when, d.Backlog(), len(f.taken), backlog, taken)
		}
	}
	d.Add(petcat.DayReturn{Account: 1}, petcat.DayReturn{Account: 2})
	want("two were added", 2, 0)
	if err := d.Send(t.Context(), nil); err == nil {
		t.Error("a store that is away took them")
	}
	d.Add(petcat.DayReturn{Account: 3})
	want("the call was not answered, and another was added", 3, 0)
	f.away = nil
	done := 0
	if err := d.Send(t.Context(), func(returns []petcat.DayReturn) { done += len(returns) }); err != nil || done != 3 {
		t.Errorf("%d were done: %v", done, err)
	}
	want("the store took them", 0, 3)
}

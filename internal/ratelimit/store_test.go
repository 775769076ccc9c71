package ratelimit_test

import (
	"context"

	"petcat"
)

// leaseAll is a store that grants everything and remembers nothing, so that a
// measurement sees the limiter alone.
type leaseAll struct{ petcat.DayStore }

func (leaseAll) LeaseDays(_ context.Context, _ petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	got := make([]petcat.DayLeased, len(leases))
	for i, l := range leases {
		got[i] = petcat.DayLeased{Granted: l.Want, Count: l.Want}
	}
	return got, nil
}

func (leaseAll) ReturnDays(context.Context, petcat.DayCall, []petcat.DayReturn) error { return nil }

package limittest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"petcat"
)

// ErrCrashed is what the store answers a process that has crashed.
var ErrCrashed = errors.New("limittest: the process has crashed")

// Days is a [petcat.DayStore] in memory that outlives the processes that use it.
type Days struct {
	mu     sync.Mutex
	counts map[dayKey]int64       // guarded by mu
	series map[dayKey]daySeries   // the last of each; guarded by mu
	done   map[string]dayCallDone // each caller's last call; guarded by mu
	calls  int                    // guarded by mu
}

type dayKey struct {
	account petcat.AccountID
	day     int64
}

// daySeries is a series of grants to counters that several nodes share.
type daySeries struct{ id, granted int64 }

// dayCallDone is a call that was done.
type dayCallDone struct {
	number  int64
	granted []int64
}

// NewDays returns an empty store.
func NewDays() *Days {
	return &Days{counts: make(map[dayKey]int64), series: make(map[dayKey]daySeries), done: make(map[string]dayCallDone)}
}

// Count returns how much of an account's day is used or leased.
func (d *Days) Count(account petcat.AccountID, day int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[dayKey{account, day}]
}

// Calls returns how often the store was asked to lease.
func (d *Days) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// Process returns the store as one process sees it.
func (d *Days) Process() *Process { return &Process{days: d, gate: make(chan struct{})} }

// Process is one process's way to a [Days]. The zero Faults are none.
type Process struct {
	days *Days

	mu     sync.Mutex
	faults Faults        // guarded by mu
	gate   chan struct{} // closed when Hang ends; guarded by mu
}

// Faults says what goes wrong.
type Faults struct {
	Write error // what LeaseDays, LeaseShared and ReturnDays answer
	Read  error // what DayCount answers
	Hang  bool  // every call waits until Hang ends or its context does
	// LoseAnswer makes LeaseDays, LeaseShared and ReturnDays do their work and then
	// answer with Write.
	LoseAnswer bool
}

// Break makes the following calls go wrong, or right again.
func (p *Process) Break(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Hang && !f.Hang {
		close(p.gate)
		p.gate = make(chan struct{})
	}
	p.faults = f
}

// Crash cuts the process off: from now on it changes nothing.
func (p *Process) Crash() { p.Break(Faults{Write: ErrCrashed, Read: ErrCrashed}) }

// enter waits while the store hangs, and returns the faults that hold then.
func (p *Process) enter(ctx context.Context) (Faults, error) {
	for {
		p.mu.Lock()
		f, gate := p.faults, p.gate
		p.mu.Unlock()
		if !f.Hang {
			return f, nil
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return f, ctx.Err()
		}
	}
}

// LeaseDays implements [petcat.DayStore].
func (p *Process) LeaseDays(ctx context.Context, call petcat.DayCall, leases []petcat.DayLease) (got []petcat.DayLeased, err error) {
	err = p.write(ctx, func(d *Days) error {
		d.calls++
		got, err = d.lease(call, leases)
		return err
	})
	return got, err
}

// LeaseShared implements [petcat.DayStore].
func (p *Process) LeaseShared(ctx context.Context, leases []petcat.SharedLease) (got []petcat.SharedLeased, err error) {
	err = p.write(ctx, func(d *Days) error {
		d.calls++
		got, err = d.leaseShared(leases)
		return err
	})
	return got, err
}

// ReturnDays implements [petcat.DayStore].
func (p *Process) ReturnDays(ctx context.Context, call petcat.DayCall, returns []petcat.DayReturn) error {
	return p.write(ctx, func(d *Days) error {
		if d.done[call.Caller].number >= call.Number {
			return nil
		}
		if len(returns) == 0 {
			return errors.New("limittest: the store was called to return nothing")
		}
		for _, r := range returns {
			if r.Unused <= 0 {
				return fmt.Errorf("limittest: %d requests were to be returned", r.Unused)
			}
			d.counts[dayKey{r.Account, r.Day}] -= r.Unused
		}
		d.done[call.Caller] = dayCallDone{number: call.Number}
		return nil
	})
}

// write does what changes the days, as far as the faults let it.
func (p *Process) write(ctx context.Context, change func(*Days) error) error {
	if _, err := p.enter(ctx); err != nil {
		return err
	}
	// Held to the end, so that nothing is changed once Crash has returned.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Write != nil && !p.faults.LoseAnswer {
		return p.faults.Write
	}
	p.days.mu.Lock()
	defer p.days.mu.Unlock()
	if err := change(p.days); err != nil {
		return err
	}
	return p.faults.Write
}

// lease grants leases, once for each call. The caller holds d.mu.
func (d *Days) lease(call petcat.DayCall, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	last := d.done[call.Caller]
	if err := petcat.CheckDayLeases(leases); err != nil {
		return nil, err
	}
	switch {
	case last.number > call.Number:
		return nil, fmt.Errorf("limittest: call %d was overtaken by call %d", call.Number, last.number)
	case last.number == call.Number && len(last.granted) != len(leases):
		return nil, fmt.Errorf("limittest: call %d had %d leases, and now has %d", call.Number, len(last.granted), len(leases))
	}
	again := last.number == call.Number
	got := make([]petcat.DayLeased, len(leases))
	granted := make([]int64, len(leases))
	for i, l := range leases {
		if l.Want <= 0 {
			return nil, fmt.Errorf("limittest: %d requests were to be leased", l.Want)
		}
		k := dayKey{l.Account, l.Day}
		if again {
			granted[i] = last.granted[i]
		} else {
			granted[i] = max(0, min(l.Want, l.Quota-d.counts[k]))
			d.counts[k] += granted[i]
		}
		got[i] = petcat.DayLeased{Granted: granted[i], Count: d.counts[k]}
	}
	d.done[call.Caller] = dayCallDone{number: call.Number, granted: granted}
	return got, nil
}

// leaseShared grants leases to counters that several nodes share. The caller holds
// d.mu.
func (d *Days) leaseShared(leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	if err := petcat.CheckSharedLeases(leases); err != nil {
		return nil, err
	}
	got := make([]petcat.SharedLeased, len(leases))
	for i, l := range leases {
		k := dayKey{l.Account, l.Day}
		granted, more := l.Granted, max(0, min(l.Want, l.Quota-d.counts[k]))
		if last := d.series[k]; last.id == l.Series && last.granted > l.Granted {
			granted, more = last.granted, 0
		}
		if more > 0 {
			d.counts[k] += more
			d.series[k] = daySeries{id: l.Series, granted: granted + more}
		}
		got[i] = petcat.SharedLeased{Granted: granted + more, Count: d.counts[k]}
	}
	return got, nil
}

// DayCount implements [petcat.DayStore].
func (p *Process) DayCount(ctx context.Context, account petcat.AccountID, day int64) (int64, error) {
	f, err := p.enter(ctx)
	if err != nil {
		return 0, err
	}
	if f.Read != nil {
		return 0, f.Read
	}
	return p.days.Count(account, day), nil
}

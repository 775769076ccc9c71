package limittest

import (
	"context"
	"errors"
	"sync"

	"petcat"
)

// ErrCrashed is what the store answers a process that has crashed.
var ErrCrashed = errors.New("limittest: the process has crashed")

// Days is a [petcat.DayStore] in memory that outlives the processes that use it.
type Days struct {
	mu     sync.Mutex
	counts map[dayKey]int64 // guarded by mu
	calls  int              // guarded by mu
}

type dayKey struct {
	account petcat.AccountID
	day     int64
}

// NewDays returns an empty store.
func NewDays() *Days { return &Days{counts: make(map[dayKey]int64)} }

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
	Write error // what LeaseDays and ReturnDays answer
	Read  error // what DayCount answers
	Hang  bool  // every call waits until Hang ends or its context does
	// LoseAnswer makes LeaseDays do its work and then answer with Write.
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
func (p *Process) LeaseDays(ctx context.Context, leases []petcat.DayLease) ([]petcat.DayLeased, error) {
	if _, err := p.enter(ctx); err != nil {
		return nil, err
	}
	// Held to the end, so that nothing is granted once Crash has returned.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Write != nil && !p.faults.LoseAnswer {
		return nil, p.faults.Write
	}
	p.days.mu.Lock()
	defer p.days.mu.Unlock()
	p.days.calls++
	got := make([]petcat.DayLeased, len(leases))
	for i, l := range leases {
		k := dayKey{l.Account, l.Day}
		granted := max(0, min(l.Want, l.Quota-p.days.counts[k]))
		p.days.counts[k] += granted
		got[i] = petcat.DayLeased{Granted: granted, Count: p.days.counts[k]}
	}
	return got, p.faults.Write
}

// ReturnDays implements [petcat.DayStore].
func (p *Process) ReturnDays(ctx context.Context, returns []petcat.DayReturn) error {
	if _, err := p.enter(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Write != nil {
		return p.faults.Write
	}
	p.days.mu.Lock()
	defer p.days.mu.Unlock()
	for _, r := range returns {
		p.days.counts[dayKey{r.Account, r.Day}] -= r.Unused
	}
	return nil
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

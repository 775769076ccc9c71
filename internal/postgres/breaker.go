package postgres

import (
	"context"
	"errors"
	"time"

	"petcat/internal/breaker"
	"petcat/internal/clock"
)

// The pause is long enough that a database that starts is not flooded with connections,
// and short enough that nobody notices it. The timeout is many times what an answer takes.
const (
	openFor      = 250 * time.Millisecond
	trialTimeout = 250 * time.Millisecond
)

// circuit is what calls of the database go through. Reads and writes have one each:
// commits that wait for a standby say nothing about reads. A failure to connect opens
// both.
type circuit struct {
	*breaker.Breaker
	other *breaker.Breaker
}

func newCircuits(c clock.Clock) (reads, writes circuit) {
	o := breaker.Options{Clock: c, OpenFor: openFor, TrialTimeout: trialTimeout, MaxWaiting: maxWaiting}
	r, w := breaker.New(o), breaker.New(o)
	return circuit{r, w}, circuit{w, r}
}

// run runs a call if it is let through. ctx is the caller's.
func (c circuit) run(ctx context.Context, call func() error) error {
	t, err := c.Enter(ctx)
	if err != nil {
		return &unreachableError{err}
	}
	err = call()
	o := outcomeOf(ctx, err)
	if o == breaker.Failed && errors.Is(err, errNoConnection) {
		c.other.Trip(err)
	}
	c.Leave(t, o, err)
	return err
}

// check returns an error while a trial is under way: a caller that queued behind it might
// wait for long, and is better refused now.
func (c circuit) check() error {
	if state, cause := c.State(); state == breaker.HalfOpen {
		return &unreachableError{cause}
	}
	return nil
}

// isClosed reports whether the database was there when it was last asked.
func (c circuit) isClosed() bool {
	state, _ := c.State()
	return state == breaker.Closed
}

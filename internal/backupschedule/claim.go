package backupschedule

import (
	"context"
	"errors"
	"time"

	"petcat/internal/clock"
)

const (
	// claimFor is how long a node that went away keeps the others from making a backup.
	claimFor = 3 * time.Minute
	// renewEvery is how often, at least, a node renews its claim while it makes a backup.
	renewEvery = claimFor / 6
	// writeTimeout bounds one write of the record, also when the node stops.
	writeTimeout = 2 * time.Second
)

// errTakenOver says that a node was silent for so long that another one began.
var errTakenOver = errors.New("another node has begun to make a backup, because this one did not reach the database for too long")

// claim is the right to make a backup. The schedule's goroutine alone has it.
type claim struct {
	schedule *Schedule
	record   Record // as this node wrote or read it last
	text     string
	renewed  clock.Reading
}

// renew says that this node makes a backup, or still does.
func (c *claim) renew(ctx context.Context) error {
	o := c.schedule.options
	now := o.Clock.Read()
	c.renewed = now
	return c.write(ctx, Record{Last: c.record.Last, Claim: &Claim{Node: o.Node, Until: now.Time().Add(claimFor)}})
}

// keep renews the claim when it is time. While the database is away, it may still be ours.
func (c *claim) keep(ctx context.Context) error {
	if c.schedule.options.Clock.Read().Since(c.renewed) < renewEvery {
		return nil
	}
	if err := c.renew(ctx); errors.Is(err, errTakenOver) {
		return err
	}
	return nil
}

// end gives the claim up, if it is ours, and says what the last good backup is.
func (c *claim) end(ctx context.Context, last *Backup) error {
	r := Record{Last: last}
	if !c.record.isOf(c.schedule.options.Node) {
		r.Claim = c.record.Claim
	}
	return c.write(ctx, r)
}

// write changes the note, unless somebody else did. A node that stops meanwhile waits for
// the outcome: it could not give up a claim that it does not know of.
func (c *claim) write(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	text, err := r.text()
	if err != nil {
		return err
	}
	notes := c.schedule.options.Store
	swapped, err := notes.SwapNote(ctx, noteName, c.text, text)
	if err == nil && !swapped {
		// The answer to the last change may have been lost, not the change.
		var now Record
		var was string
		if now, was, err = Read(ctx, notes); err == nil && now.isOf(c.schedule.options.Node) {
			swapped, err = notes.SwapNote(ctx, noteName, was, text)
		}
	}
	switch {
	case err != nil:
		return err
	case !swapped:
		return errTakenOver
	}
	c.record, c.text = r, text
	return nil
}

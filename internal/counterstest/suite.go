package counterstest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/randomtest"
)

// Setup is an implementation under test, empty at first, with the hooks by which the
// suite breaks it. Its clock may run or stand still between two calls.
type Setup struct {
	// Nodes are two of those that count together.
	Nodes [2]counters.Counters
	// Step sets the clock of all partitions forward, or back.
	Step func(by time.Duration)
	// Empty makes one partition forget everything, as a server does that restarts
	// without its data.
	Empty func(partition int)
	// Copy takes a copy of what a partition counts; promote puts it in the place of
	// what the partition counts then, as a replica that lagged. It is nil where there
	// is no replica.
	Copy func(partition int) (promote func())
}

// Start starts an implementation, which ends with the test. It fails the test when it
// cannot.
type Start func(t *testing.T) Setup

// Run tests the rules of counters. A random history has so many steps; see
// [randomtest.Run] for its seed.
func Run(t *testing.T, start Start, steps int) {
	t.Run("minute", func(t *testing.T) { testMinute(t, start) })
	t.Run("day", func(t *testing.T) { testDay(t, start) })
	t.Run("clock", func(t *testing.T) { testClock(t, start) })
	t.Run("epochs", func(t *testing.T) { testEpochs(t, start) })
	t.Run("retries", func(t *testing.T) { testRetries(t, start) })
	t.Run("parallel", func(t *testing.T) { testParallel(t, start) })
	t.Run("history", func(t *testing.T) {
		randomtest.Run(t, func(t *testing.T, seed uint64) {
			t.Helper()
			testHistory(t, start, seed, steps)
		})
	})
}

// rig is an implementation with what the suite knows of it.
type rig struct {
	*testing.T
	Setup
	epochs []counters.Epoch
}

// newRig starts an implementation at 18 s past ten o'clock on some day to come.
func newRig(t *testing.T, start Start) *rig {
	t.Helper()
	r := &rig{T: t, Setup: start(t)}
	n := r.Nodes[0].Partitions()
	if n < 1 || n > counters.MaxPartitions || n != r.Nodes[1].Partitions() {
		t.Fatalf("%d and %d partitions, want the same from 1 to %d", n, r.Nodes[1].Partitions(), counters.MaxPartitions)
	}
	_, now := r.probe(0, 0)
	r.Step(time.Duration((now/int64(day)+1)*int64(day) - now + int64(10*time.Hour+18*time.Second)))
	for p := range n {
		e, _ := r.probe(0, p)
		r.epochs = append(r.epochs, e)
	}
	return r
}

const day = 24 * time.Hour

// account is what a test uses when one will do.
const account petcat.AccountID = 64

// free is a charge on the Free plan.
func free(requests int64) counters.Charge {
	return counters.Charge{Account: account, Requests: requests, PerMinute: 60, PerDay: 1_000, Series: 11}
}

func (r *rig) probe(node, p int) (epoch counters.Epoch, now int64) {
	r.Helper()
	e, now, err := r.Nodes[node].Probe(r.Context(), p)
	if err != nil {
		r.Fatalf("Probe: %v", err)
	}
	if e.ID < 1 || e.ID >= 1<<48 || now <= 0 {
		r.Fatalf("Probe = epoch %+v at %d, want an id from 1 to 2^48 - 1", e, now)
	}
	return e, now
}

func (r *rig) partition(a petcat.AccountID) int {
	return counters.PartitionOf(a, r.Nodes[0].Partitions())
}

// charge makes one charge in the epoch that the rig knows.
func (r *rig) charge(node int, c counters.Charge) counters.Facts {
	r.Helper()
	p := r.partition(c.Account)
	facts, err := r.Nodes[node].Charge(r.Context(), p, r.epochs[p], []counters.Charge{c})
	if err != nil || len(facts) != 1 {
		r.Fatalf("Charge(%+v) = %+v, %v", c, facts, err)
	}
	return facts[0]
}

// grant tells of one grant in the epoch that the rig knows.
func (r *rig) grant(node int, g counters.Grant) {
	r.Helper()
	p := r.partition(g.Account)
	if err := r.Nodes[node].Grant(r.Context(), p, r.epochs[p], []counters.Grant{g}); err != nil {
		r.Fatalf("Grant(%+v): %v", g, err)
	}
}

// begin makes an account's day known with so many leased, and returns the facts.
func (r *rig) begin(c counters.Charge, granted int64) counters.Facts {
	r.Helper()
	c.Requests = 0
	f := r.charge(0, c)
	r.grant(0, counters.Grant{Account: c.Account, Day: dayOf(f.Now), Series: f.Day.Series, Granted: granted, Count: granted})
	return r.charge(1, c)
}

// newEpoch expects that an epoch is over, learns the one that holds, and returns it.
func (r *rig) newEpoch(p int) counters.Epoch {
	r.Helper()
	old := r.epochs[p]
	other := petcat.AccountID(p + 1_000*len(r.epochs))
	_, err := r.Nodes[0].Charge(r.Context(), p, old, []counters.Charge{{Account: other, Series: 1}})
	now := r.wantWrongEpoch("Charge in an epoch that is over", err, old)
	for node := range r.Nodes {
		if e, _ := r.probe(node, p); e != now {
			r.Errorf("Probe by node %d = epoch %+v after a call has told %+v", node, e, now)
		}
	}
	r.epochs[p] = now
	return now
}

// wantWrongEpoch expects the error of a call whose epoch is over, and returns the one
// that holds.
func (r *rig) wantWrongEpoch(what string, err error, named counters.Epoch) counters.Epoch {
	r.Helper()
	wrong, ok := errors.AsType[*counters.WrongEpoch](err)
	if !ok || wrong.Now.ID == named.ID || wrong.Now.ID < 1 {
		r.Fatalf("%s: the error is %v, want that epoch %d is over, and the one that holds", what, err, named.ID)
	}
	return wrong.Now
}

func dayOf(now int64) int64    { return petcat.Day.Index(now / 1e9) }
func minuteOf(now int64) int64 { return petcat.Minute.Index(now / 1e9) }

// wantFacts compares all but the time.
func wantFacts(t *testing.T, what string, got, want counters.Facts) {
	t.Helper()
	got.Now = want.Now
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

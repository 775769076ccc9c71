package counterstest

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/randomtest"
)

// historyAccounts is how many accounts a history has in each of its partitions, which
// are at most historyPartitions.
const (
	historyAccounts   = 4
	historyPartitions = 3
)

// testHistory sends an implementation and [counters.Account] through the same random
// history, and fails at the first fact that differs. The times are the implementation's.
func testHistory(t *testing.T, start Start, seed uint64, steps int) {
	h := &history{rig: newRig(t, start), Steps: randomtest.New(seed), seen: make(map[string]int)}
	h.used = min(historyPartitions, len(h.epochs))
	for range h.used {
		h.model = append(h.model, make(map[petcat.AccountID]counters.Account))
		h.copies = append(h.copies, nil)
	}
	for n := 0; n < steps || len(h.missing()) > 0 && n < patience*steps; n++ {
		h.step()
		if t.Failed() {
			t.Fatalf("step %d; the last steps were:\n%s", n, h.Trail())
		}
	}
	t.Logf("%v", h.seen)
	if missing := h.missing(); len(missing) > 0 {
		t.Errorf("the history never led to %q", missing)
	}
}

// patience is how many times as long as it was to be a history goes on until it has led
// everywhere.
const patience = 10

// missing returns where the history has not led.
func (h *history) missing() (missing []string) {
	for _, what := range [...]string{"admitted", "minute spent", "day spent", "overdrawn", "reported", "day reported", "granted", "wrong epoch", "emptied"} {
		if h.seen[what] == 0 {
			missing = append(missing, what)
		}
	}
	return missing
}

type history struct {
	*rig
	*randomtest.Steps
	used   int                                     // of the partitions
	model  []map[petcat.AccountID]counters.Account // of each partition
	copies []func()                                // of each partition: promotes its copy; nil: there is none
	clock  int64                                   // the latest time that was told since the clock was set
	seen   map[string]int
}

func (h *history) step() {
	p := h.IntN(h.used)
	switch {
	case h.OneIn(200):
		h.emptyPartition(p)
	case h.OneIn(100) && h.Copy != nil:
		h.copyOrPromote(p)
	case h.OneIn(60):
		h.stepClock(randomtest.Pick(h.Steps, time.Minute, time.Minute, time.Hour, day, 2*day))
	case h.OneIn(300):
		h.stepClock(randomtest.Pick(h.Steps, -time.Minute, -time.Hour, -day, -2*day))
	case h.OneIn(10):
		h.stepClock(randomtest.Pick(h.Steps, time.Millisecond, time.Second, 9*time.Second, 20*time.Second))
	case h.OneIn(30):
		h.anotherEpoch(p)
	case h.OneIn(3):
		h.grants(p)
	default:
		h.charges(p)
	}
}

func (h *history) stepClock(by time.Duration) {
	h.Note("step the clock by %s", by)
	h.Step(by)
	h.clock += int64(by)
}

func (h *history) emptyPartition(p int) {
	h.Note("empty partition %d", p)
	h.Empty(p)
	h.newEpoch(p)
	h.model[p], h.copies[p] = make(map[petcat.AccountID]counters.Account), nil
	h.seen["emptied"]++
}

func (h *history) copyOrPromote(p int) {
	if h.copies[p] == nil {
		h.Note("copy partition %d", p)
		promote, counts := h.Copy(p), maps.Clone(h.model[p])
		h.copies[p] = func() {
			promote()
			h.newEpoch(p)
			h.model[p] = counts
		}
		return
	}
	h.Note("promote the copy of partition %d", p)
	h.copies[p]()
	h.copies[p] = nil
	h.seen["promoted"]++
}

// accounts returns some accounts of a partition, in any order.
func (h *history) accounts(p int) (ids []petcat.AccountID) {
	for _, i := range h.Perm(historyAccounts)[:1+h.IntN(historyAccounts)] {
		ids = append(ids, petcat.AccountID(p+i*len(h.epochs)))
	}
	return ids
}

func (h *history) randomCharge(id petcat.AccountID) counters.Charge {
	c := counters.Charge{
		Account:   id,
		Requests:  randomtest.Pick(h.Steps, 0, 1, 1, 1, 2, 7, h.Int64N(50)),
		PerMinute: randomtest.Pick(h.Steps, 60, 60, 5, 1, 0, 300, h.Int64N(100)),
		PerDay:    randomtest.Pick[int64](h.Steps, 1_000, 1_000, 100, 3, 0),
		Overdraw:  h.OneIn(4),
		Series:    1 + h.Int64N(1<<48-1),
	}
	if h.OneIn(5) {
		c.Reported, c.Minute = h.Int64N(20), minuteOf(h.clock)+randomtest.Pick[int64](h.Steps, 0, 0, 0, -1, 1, -1_440)
		c.DayUsed = randomtest.Pick(h.Steps, 0, 0, h.Int64N(1_000))
	}
	return c
}

func (h *history) charges(p int) {
	var charges []counters.Charge
	for _, id := range h.accounts(p) {
		charges = append(charges, h.randomCharge(id))
	}
	h.chargeAll(p, charges)
}

// chargeAll makes a call and compares its facts.
func (h *history) chargeAll(p int, charges []counters.Charge) {
	h.Note("charge %+v", charges)
	facts, err := h.Nodes[h.IntN(2)].Charge(h.Context(), p, h.epochs[p], charges)
	if err != nil || len(facts) != len(charges) {
		h.Errorf("Charge = %d facts, %v, want %d", len(facts), err, len(charges))
		return
	}
	for i, f := range facts {
		if f.Now < h.clock {
			h.Errorf("the clock shows %d after %d", f.Now, h.clock)
		}
		h.clock = f.Now
		a := h.model[p][charges[i].Account]
		want := a.Charge(f.Now, h.epochs[p].ID, charges[i])
		h.model[p][charges[i].Account] = a
		if diff := cmp.Diff(want, f); diff != "" {
			h.Errorf("the facts of charge %+v (-want +got):\n%s", charges[i], diff)
		}
		h.count(charges[i], f)
	}
}

func (h *history) count(c counters.Charge, f counters.Facts) {
	for what, is := range map[string]bool{
		"admitted":     f.Admitted > 0,
		"minute spent": f.Day.Known && c.Requests > 0 && f.MinuteUsed >= c.PerMinute,
		"day spent":    f.Day.Known && c.Requests > 0 && f.Day.Used() >= c.PerDay,
		"overdrawn":    f.Day.Owed > 0,
		"reported":     c.Reported > 0 && c.Minute == minuteOf(f.Now),
		"day reported": c.DayUsed > 0 && f.Day.Count == c.DayUsed,
	} {
		if is {
			h.seen[what]++
		}
	}
}

// grants tells of blocks for some accounts: as a node would, or late, repeated,
// smaller, of another series or of another day. Then it looks at them.
func (h *history) grants(p int) {
	var grants []counters.Grant
	var looks []counters.Charge
	for _, id := range h.accounts(p) {
		a := h.model[p][id]
		g := counters.Grant{Account: id, Day: dayOf(h.clock), Series: a.Day.Series}
		g.Day += randomtest.Pick[int64](h.Steps, 0, 0, 0, 0, 1, -1, 2)
		g.Granted = max(0, a.Day.Granted+randomtest.Pick[int64](h.Steps, 0, 1, 5, 5, 50, -1, -5))
		g.Count = max(0, a.Day.Count+randomtest.Pick[int64](h.Steps, 0, 1, 5, 50, -5))
		if h.OneIn(10) {
			g.Series = 1 + h.Int64N(100)
		}
		grants = append(grants, g)
		looks = append(looks, counters.Charge{Account: id, Series: 1 + h.Int64N(1<<48-1)})
		a.Grant(h.epochs[p].ID, g)
		if _, charged := h.model[p][id]; charged {
			h.model[p][id] = a
			h.seen["granted"]++
		}
	}
	h.Note("grant %+v", grants)
	if err := h.Nodes[h.IntN(2)].Grant(h.Context(), p, h.epochs[p], grants); err != nil {
		h.Errorf("Grant: %v", err)
		return
	}
	h.chargeAll(p, looks)
}

// anotherEpoch makes calls in an epoch that does not hold, and looks at what they did.
func (h *history) anotherEpoch(p int) {
	wrong := counters.Epoch{ID: 1 + h.Int64N(1<<48-1)}
	id := h.accounts(p)[0]
	h.Note("charge and grant in epoch %d", wrong.ID)
	_, err := h.Nodes[0].Charge(h.Context(), p, wrong, []counters.Charge{h.randomCharge(id)})
	wantEqual(h.T, "the epoch that holds", h.wantWrongEpoch("Charge", err, wrong), h.epochs[p])
	err = h.Nodes[1].Grant(h.Context(), p, wrong, []counters.Grant{{Account: id, Day: dayOf(h.clock), Series: h.model[p][id].Day.Series, Granted: 1_000}})
	wantEqual(h.T, "the epoch that holds", h.wantWrongEpoch("Grant", err, wrong), h.epochs[p])
	h.seen["wrong epoch"]++
	h.chargeAll(p, []counters.Charge{{Account: id, Series: 1}})
}

package counterstest

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/counters"
)

func testEpochs(t *testing.T, start Start) {
	t.Run("holds", func(t *testing.T) {
		r := newRig(t, start)
		for p, e := range r.epochs {
			for node := range r.Nodes {
				again, now := r.probe(node, p)
				wantEqual(t, "the epoch of a later probe", again, e)
				if e.Began > now {
					t.Errorf("epoch %+v began after %d", e, now)
				}
			}
		}
	})

	t.Run("emptied", func(t *testing.T) {
		for name, first := range map[string]func(r *rig, p int, old counters.Epoch) error{
			"before a charge": func(r *rig, p int, old counters.Epoch) error {
				_, err := r.Nodes[1].Charge(r.Context(), p, old, []counters.Charge{free(1)})
				return err
			},
			"before a grant": func(r *rig, p int, old counters.Epoch) error {
				return r.Nodes[1].Grant(r.Context(), p, old, []counters.Grant{{Account: account, Series: 11, Granted: 1}})
			},
			"before a probe": func(r *rig, p int, _ counters.Epoch) error {
				e, _ := r.probe(1, p)
				return &counters.WrongEpoch{Now: e}
			},
		} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, start)
				r.begin(free(0), 100)
				r.charge(0, free(60))
				p := r.partition(account)
				old := r.epochs[p]
				r.Empty(p)
				now := r.wantWrongEpoch("the first call", first(r, p, old), old)
				wantEqual(t, "the epoch that holds", r.newEpoch(p), now)
				if now.Began < old.Began {
					t.Errorf("epoch %+v began before %+v", now, old)
				}
				wantFacts(t, "a charge", r.charge(0, free(60)), counters.Facts{Day: counters.Day{Series: 11}})
				for q, e := range r.epochs {
					if again, _ := r.probe(0, q); again != e {
						t.Errorf("partition %d, which nobody emptied, has epoch %+v, had %+v", q, again, e)
					}
				}
			})
		}
	})

	t.Run("another epoch's calls do nothing", func(t *testing.T) {
		r := newRig(t, start)
		before := r.begin(free(0), 100)
		p := r.partition(account)
		for _, e := range []counters.Epoch{{}, {ID: r.epochs[p].ID + 1, Began: r.epochs[p].Began}} {
			c := free(10)
			c.Reported, c.Minute = 10, minuteOf(before.Now)
			_, err := r.Nodes[0].Charge(t.Context(), p, e, []counters.Charge{c})
			wantEqual(t, "the epoch that holds", r.wantWrongEpoch("Charge", err, e), r.epochs[p])
			err = r.Nodes[0].Grant(t.Context(), p, e, []counters.Grant{{Account: account, Day: dayOf(before.Now), Series: 11, Granted: 200, Count: 200}})
			wantEqual(t, "the epoch that holds", r.wantWrongEpoch("Grant", err, e), r.epochs[p])
			wantFacts(t, "a charge after them", r.charge(1, free(0)), before)
		}
	})

	if start(t).Copy == nil {
		return // these counters have no replicas
	}
	t.Run("a replica that lagged is promoted", func(t *testing.T) {
		r := newRig(t, start)
		began := r.begin(free(0), 100)
		r.charge(0, free(20))
		p := r.partition(account)
		promote := r.Copy(p)
		r.charge(0, free(20))
		promote()
		r.newEpoch(p)
		c := free(0)
		c.Series = 12
		wantFacts(t, "a charge", r.charge(0, c), counters.Facts{MinuteUsed: 20, Day: counters.Day{Series: 12}})
		r.grant(0, counters.Grant{Account: account, Day: dayOf(began.Now), Series: 11, Granted: 200, Count: 200})
		wantFacts(t, "a charge after a grant of the series before", r.charge(0, c), counters.Facts{MinuteUsed: 20, Day: counters.Day{Series: 12}})
		promote()
		r.newEpoch(p)
		wantFacts(t, "a charge when it was promoted twice", r.charge(0, c), counters.Facts{MinuteUsed: 20, Day: counters.Day{Series: 12}})
	})

	t.Run("tomorrow's grant ends with its epoch", func(t *testing.T) {
		r := newRig(t, start)
		if r.Copy == nil {
			t.Skip("these counters have no replicas")
		}
		began := r.begin(free(0), 100)
		r.grant(0, counters.Grant{Account: account, Day: dayOf(began.Now) + 1, Series: 11, Granted: 5, Count: 5})
		p := r.partition(account)
		r.Copy(p)()
		r.newEpoch(p)
		r.Step(day)
		c := free(3)
		c.Series = 12
		wantFacts(t, "the next day's first charge", r.charge(0, c), counters.Facts{Day: counters.Day{Series: 12}})
	})
}

func testRetries(t *testing.T, start Start) {
	r := newRig(t, start)
	p := r.Nodes[0].Partitions() - 1
	share := func(node int, name string, keys ...counters.KeyRetries) []int64 {
		t.Helper()
		got, err := r.Nodes[node].ShareRetries(t.Context(), p, name, keys)
		if err != nil || len(got) != len(keys) {
			t.Fatalf("ShareRetries = %v, %v, want %d numbers", got, err, len(keys))
		}
		return got
	}
	told := func(what string, got []int64, want ...int64) {
		t.Helper()
		for i := range want {
			wantEqual(t, what, got[i], want[i])
		}
	}
	one := func(key petcat.KeyID, n int64) counters.KeyRetries { return counters.KeyRetries{Key: key, Retries: n} }
	told("nothing", share(0, "a"))
	told("the first word", share(0, "a", one(1, 5), one(2, 7)), 0, 0)
	told("another node's", share(1, "b", one(2, 1), one(1, 2), one(3, 3)), 7, 5, 0)
	told("a third node's", share(1, "c", one(1, 10)), 7)
	told("a word in the place of the one before", share(0, "a", one(1, 6)), 12)
	told("the same again", share(0, "a", one(1, 6)), 12)
	told("to the others", share(1, "b", one(1, 0)), 16)
	r.Step(2 * time.Second)
	told("after 2 s", share(0, "a", one(1, 6)), 10)
	r.Step(2 * time.Second)
	told("after 4 s, and 2 s", share(1, "b", one(1, 1), one(2, 1)), 6, 0)
	r.Step(time.Hour)
	told("after an hour", share(0, "a", one(1, 1), one(2, 1)), 0, 0)
	r.Empty(p)
	told("when emptied", share(1, "b", one(1, 1)), 0)
	told("after that", share(0, "a", one(1, 1)), 1)
}

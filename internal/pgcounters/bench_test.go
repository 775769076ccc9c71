package pgcounters

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/pgtest"
)

// ready makes the days of accounts known, with more than anybody spends.
func ready(t testing.TB, c *Counters, epoch counters.Epoch, accounts int) {
	t.Helper()
	for first := 1; first <= accounts; first += 256 {
		var charges []counters.Charge
		var grants []counters.Grant
		for id := first; id < first+256 && id <= accounts; id++ {
			charges = append(charges, spend(petcat.AccountID(id)))
		}
		facts, err := c.Charge(t.Context(), 0, epoch, charges)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range facts {
			grants = append(grants, counters.Grant{Account: charges[i].Account, Day: petcat.Day.Index(f.Now / 1e9), Series: f.Day.Series, Granted: 1 << 40, Count: 1 << 40})
		}
		if err := c.Grant(t.Context(), 0, epoch, grants); err != nil {
			t.Fatal(err)
		}
	}
}

func spend(id petcat.AccountID) counters.Charge {
	return counters.Charge{Account: id, Requests: 1, PerMinute: 1 << 40, PerDay: 1 << 41, Series: 7}
}

// BenchmarkCharge measures calls of 64 charges, by callers each with a node of its own.
func BenchmarkCharge(b *testing.B) {
	url := database(b, pgtest.New(b, pgtest.Options{}))
	for _, accounts := range []int{1_000, 100_000} {
		for _, callers := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("accounts=%d/callers=%d", accounts, callers), func(b *testing.B) {
				nodes := make([]*Counters, callers)
				for i := range nodes {
					nodes[i] = node(b, url)
				}
				epoch := probe(b, nodes[0])
				ready(b, nodes[0], epoch, accounts)
				chargeMany(b, nodes, epoch, accounts, 50*callers) // plans
				b.ResetTimer()
				chargeMany(b, nodes, epoch, accounts, b.N)
				b.StopTimer()
				b.ReportMetric(float64(64*b.N)/b.Elapsed().Seconds(), "charges/s")
			})
		}
	}
}

func chargeMany(b *testing.B, nodes []*Counters, epoch counters.Epoch, accounts, calls int) {
	b.Helper()
	var wg sync.WaitGroup
	var done atomic.Int64
	for _, n := range nodes {
		wg.Go(func() {
			for done.Add(1) <= int64(calls) {
				if _, err := n.Charge(b.Context(), 0, epoch, some(accounts, 64)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// some returns charges of n different accounts.
func some(accounts, n int) []counters.Charge {
	first, step := rand.IntN(accounts), 1+2*rand.IntN(min(200, accounts/n/2))
	charges := make([]counters.Charge, n)
	for i := range charges {
		charges[i] = spend(petcat.AccountID(1 + (first+i*step)%accounts))
	}
	return charges
}

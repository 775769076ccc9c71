package metrics_test

import (
	"fmt"
	"sync"
	"testing"

	"petcat"
	"petcat/internal/metrics"
)

func deprecatedCalls(o petcat.OperationID, account string) string {
	return fmt.Sprintf("petcat_deprecated_requests_total{account=%q,operation=%q}", account, o)
}

// However many accounts call, an operation has 101 time series at most; no call is
// lost, and who is named goes on being named.
func TestDeprecatedIsBounded(t *testing.T) {
	const accounts, rounds = 250, 4
	m := metrics.New("v")
	before := len(series(t, m))
	var all sync.WaitGroup
	for range rounds {
		all.Go(func() {
			for id := range petcat.AccountID(accounts) {
				m.Deprecated(petcat.OpListCategories, id+1)
			}
		})
	}
	all.Wait()
	got := series(t, m)
	if made := len(got) - before; made != 101 {
		t.Errorf("%d time series came into being, want 101", made)
	}
	var named, calls float64
	for id := range petcat.AccountID(accounts) {
		n := got[deprecatedCalls(petcat.OpListCategories, (id+1).String())]
		if n > 0 {
			named++
		}
		if n != 0 && n != rounds {
			t.Errorf("%v calls of %s are counted, want none or %d", n, id+1, rounds)
		}
		calls += n
	}
	other := got[deprecatedCalls(petcat.OpListCategories, "other")]
	if named != 100 || calls+other != accounts*rounds {
		t.Errorf("%v accounts are named with %v calls, and %v are of others; want 100, and %d in all", named, calls, other, accounts*rounds)
	}
}

package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"petcat"
)

// namedAccounts is how many accounts are named in the counts of one operation. Accounts
// are without number, and each would be a time series of every node. Past this many
// the metric tells how much is called, and the access log tells by whom: callers of
// an operation that is about to end are written to one by one, and a list longer than
// this is made from the log anyway.
const namedAccounts = 100

// otherAccounts labels the calls of all accounts past those.
const otherAccounts = "other"

// deprecated counts calls of deprecated operations by account. How many there are in
// all is in petcat_requests_total: this tells who has to change. It may be used by
// several goroutines at the same time.
type deprecated struct {
	calls *prometheus.CounterVec

	mu    sync.Mutex
	named map[petcat.OperationID]map[petcat.AccountID]prometheus.Counter // guarded by mu
}

func newDeprecated() *deprecated {
	return &deprecated{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petcat_deprecated_requests_total",
			Help: "Requests for deprecated operations, those after the sunset included, by operation and account; past 100 accounts of an operation, other.",
		}, []string{"operation", "account"}),
		named: make(map[petcat.OperationID]map[petcat.AccountID]prometheus.Counter),
	}
}

// Deprecated counts a request for a deprecated operation.
func (m *Metrics) Deprecated(id petcat.OperationID, account petcat.AccountID) {
	d := m.deprecated
	d.mu.Lock()
	defer d.mu.Unlock()
	named := d.named[id]
	if named == nil {
		named = make(map[petcat.AccountID]prometheus.Counter)
		d.named[id] = named
	}
	calls, known := named[account]
	switch {
	case known:
	case len(named) == namedAccounts:
		calls = d.calls.WithLabelValues(string(id), otherAccounts)
	default:
		calls = d.calls.WithLabelValues(string(id), account.String())
		named[account] = calls
	}
	calls.Inc()
}

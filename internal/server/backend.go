package server

import (
	"context"
	"time"

	"petcat"
	"petcat/internal/backupschedule"
	"petcat/internal/catalog"
	"petcat/internal/counters"
	"petcat/internal/metrics"
)

// backend is where a node keeps its data, with what a node must know of its kind.
type backend interface {
	records
	monitored
	// list is what the API shows of the categories.
	list() categoryList
	// registry is where nodes find each other; nil where there can be only one.
	registry() registry
	Close() error
}

// records are what is kept: the stores of the domain, over one database.
type records interface { //nolint:interfacebloat // a sum of small ones
	Accounts
	petcat.BanStore
	petcat.AuditStore
	petcat.CategoryStore
	petcat.PetStore
	petcat.OrderStore
	petcat.DayStore
	petcat.AccessStore
	petcat.UsageStore
	petcat.OperatorStore
	petcat.SessionStore
	petcat.PageStore
	petcat.RefusalStore
	backupschedule.Store
	// Created reports whether there was no data before.
	Created() bool
	// place names where the data is, for people.
	place() string
	logLevels
}

// Accounts are the accounts and keys of a deployment.
type Accounts interface {
	petcat.AccountStore
	petcat.KeyStore
	// Environment returns the environment that the data belongs to.
	Environment() petcat.Environment
}

// monitored is a backend whose state a node reports.
type monitored interface {
	// check asks the database, so that status is up to date even without requests.
	check(ctx context.Context)
	// status is what is known, and asks nobody.
	status() storeStatus
	// Failed is closed when nothing can be written until the program is started
	// again, and Err then says why.
	Failed() <-chan struct{}
	Err() error
	registerMetrics(m *metrics.Metrics)
}

// storeStatus is how a backend is.
type storeStatus struct {
	readable, writable bool
	piling             bool   // writes pile up because somebody reads for long
	waiting            int    // writes in the queue
	shed               uint64 // writes refused so far because too many waited
}

// categoryList is the list that a node shows.
type categoryList interface {
	Current(ctx context.Context) (list *catalog.Snapshot, age time.Duration, err error)
	// Count returns how many categories are known, and asks nobody.
	Count() int64
}

// registry is where nodes find each other.
type registry interface {
	// Beat says that a node serves and which partitions of the counters it cannot
	// reach (bit p stands for p), and returns all nodes that were there lately.
	Beat(ctx context.Context, node string, cutOff uint64) ([]counters.Member, error)
	// Leave says that a node no longer serves.
	Leave(ctx context.Context, node string) error
}

// openBackend opens the data, and reads the list.
func (n *Node) openBackend(ctx context.Context) (backend, error) {
	if n.settings.UsesSQLite() {
		return n.openSQLite(ctx)
	}
	return n.openPostgres(ctx)
}

// hasFailed reports whether nothing can be written until the program is started again.
func hasFailed(b backend) bool {
	select {
	case <-b.Failed():
		return true
	default:
		return false
	}
}

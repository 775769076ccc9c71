package server

import (
	"context"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/catalog"
	"petcat/internal/metrics"
)

// backend is where a node keeps its data. SQLite and PostgreSQL each have one.
type backend interface {
	records
	monitored
	// list returns the categories that the API lists.
	list() categoryList
	// registry returns where nodes find each other, and counters where they count together;
	// nil if there can be only one node.
	registry() registry
	counters() petcat.QuotaStore
	Close() error
}

// records are the stores of the domain, all on one database.
type records interface { //nolint:interfacebloat // a sum of small ones
	Accounts
	petcat.BanStore
	petcat.AuditStore
	petcat.CategoryStore
	petcat.PetStore
	petcat.OrderStore
	petcat.AccessStore
	petcat.UsageStore
	petcat.OperatorStore
	petcat.SessionStore
	petcat.PageStore
	backup.Store
	// OnAccessChange sets what is called after each change of an account, a key or a ban by
	// this process.
	OnAccessChange(fn func(context.Context))
	// Created reports whether opening the backend created the data.
	Created() bool
	// place says where the data is, for log messages.
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
	// check queries the database, so that status is up to date even without requests.
	check(ctx context.Context)
	// status returns the last known state, without a query.
	status() storeStatus
	// Failed returns a channel that is closed when nothing can be written until the
	// program is started again. Err then says why.
	Failed() <-chan struct{}
	Err() error
	registerMetrics(m *metrics.Metrics)
}

// storeStatus is the state of a backend.
type storeStatus struct {
	readable, writable bool
	waiting            int    // writes in the queue
	shed               uint64 // writes refused so far because too many waited
}

// categoryList is the list of categories that a node serves.
type categoryList interface {
	// Current returns the list, and how old it may be. newest is the newest revision of the
	// store, if that was read since the list was asked for, or 0.
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
	// Count returns how many categories are in memory, without a query.
	Count() int64
}

// registry is where nodes find each other.
type registry interface {
	// Beat records that a node serves. It returns all nodes that do.
	Beat(ctx context.Context, node string) ([]petcat.Node, error)
	// Leave records that a node no longer serves.
	Leave(ctx context.Context, node string) error
}

// openBackend opens the data, and reads the categories into memory.
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

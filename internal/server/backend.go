package server

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/catalog"
	"petcat/internal/config"
	"petcat/internal/console"
	"petcat/internal/datadir"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

// backend is where a node keeps its data: a file of SQLite, or PostgreSQL.
type backend struct {
	store
	list     categoryList
	counters petcat.QuotaStore // where nodes count together; nil if there can be only one
	place    string            // for log messages
	// check queries the database, so that status is up to date even without requests.
	check func(ctx context.Context)
	// status returns the last known state, without a query.
	status func() storeStatus
}

// store is all that is kept in one database.
type store interface { //nolint:interfacebloat // a sum of small ones
	Accounts
	console.Store
	petcat.NodeStore
	petcat.PetStore
	petcat.OrderStore
	petcat.AccessStore
	backup.Store
	logLevels
	// OnAccessChange sets what is called after each change of an account, a key or a ban by
	// this process.
	OnAccessChange(fn func(context.Context))
	// Created reports whether opening the store created the data.
	Created() bool
	// Failed returns a channel that is closed when nothing can be written until the
	// program is started again. Err then says why.
	Failed() <-chan struct{}
	Err() error
	Close() error
}

// Accounts are the accounts and keys of a deployment.
type Accounts interface {
	petcat.AccountStore
	petcat.KeyStore
	// Environment returns the environment that the data belongs to.
	Environment() petcat.Environment
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

// openBackend opens the data, and reads the categories into memory.
func (n *Node) openBackend(ctx context.Context) error {
	open := n.openPostgres
	if n.settings.UsesSQLite() {
		open = n.openSQLite
	}
	b, err := open(ctx)
	if err != nil {
		return err
	}
	n.backend = b
	if b.Created() {
		n.log.InfoContext(ctx, "there was no data, so a new deployment was created: it knows no keys yet", "place", b.place, "environment", b.Environment())
	}
	return nil
}

// openSQLite opens the file in the data directory, of which this process is the only server:
// each commit is handed to the list before it is acknowledged.
func (n *Node) openSQLite(ctx context.Context) (*backend, error) {
	if !n.settings.Init {
		has, err := datadir.HasData(n.settings.Data)
		if err != nil {
			return nil, err
		}
		if !has {
			return nil, config.Errorf("there is no data in %s, and --init (PETCAT_INIT) is false; check --data (PETCAT_DATA) and whether its disk is mounted, or create a new deployment with petcat init", n.settings.Data)
		}
	}
	dir, err := datadir.Open(n.settings.Data)
	if err != nil {
		return nil, err
	}
	lock, err := dir.LockServer()
	if err != nil {
		return nil, err
	}
	n.onClose(func(context.Context) error { return lock.Close() })
	var list *catalog.Catalog
	st, err := sqlite.Open(ctx, sqlite.Options{
		Dir: dir, Environment: n.settings.Environment, Clock: n.clock, Logger: n.log.Logger, Serving: true,
		// No category is written before list is set below.
		CategoriesCommitted: func(created []petcat.RevisedCategory) { list.Apply(created) },
		CommitObserved:      n.metrics.Commit,
	})
	if err != nil {
		return nil, err
	}
	n.onClose(func(context.Context) error { return st.Close() })
	// This node is the only one, so all others have ended. If this fails, the store's
	// periodic cleaning does it later.
	_ = st.NoteKilledNodes(ctx, 0)
	list = catalog.New(st.Dataset())
	n.metrics.Gauge("petcat_store_wal_bytes", func() float64 { return float64(st.WALBytes()) })
	n.metrics.Gauge("petcat_store_free_bytes", func() float64 {
		free, err := dir.FreeBytes()
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	})
	var unreadable atomic.Bool
	return &backend{
		store: st, list: list, place: dir.Path(),
		check: func(ctx context.Context) {
			limited, cancel := context.WithTimeout(ctx, checkInterval)
			defer cancel()
			if err := st.Check(limited); ctx.Err() == nil {
				unreadable.Store(err != nil)
			}
		},
		status: func() storeStatus {
			stats := st.Stats()
			return storeStatus{readable: !unreadable.Load(), writable: stats.Writable, waiting: stats.Waiting, shed: stats.Shed}
		},
	}, list.Load(ctx, st)
}

// openPostgres opens a database that several nodes share. Before each list, it is asked for
// what other nodes have changed.
func (n *Node) openPostgres(ctx context.Context) (*backend, error) {
	st, err := postgres.Open(ctx, postgres.Options{
		URL: n.settings.Database, Environment: n.settings.Environment, Clock: n.clock, Logger: n.log.Logger, Serving: true, MustExist: !n.settings.Init,
		CommitObserved: n.metrics.Commit,
	})
	if err != nil {
		return nil, err
	}
	list := catalog.NewReplica(ctx, catalog.New(st.Dataset()+st.HistoryID()), catalog.ReplicaOptions{
		Feed: st, Clock: n.clock, Logger: n.log.Logger, MaxStaleness: n.settings.MaxStaleness,
	})
	n.onClose(func(context.Context) error {
		list.Close()
		return st.Close()
	})
	n.metrics.Gauge("petcat_store_connections", func() float64 { return float64(st.Stats().Connections) })
	n.metrics.Gauge("petcat_store_connections_in_use", func() float64 { return float64(st.Stats().InUse) })
	n.metrics.Gauge("petcat_clock_ahead_of_database_seconds", func() float64 { return st.Stats().ClockAhead.Seconds() })
	n.metrics.Gauge("petcat_catalog_age_seconds", func() float64 { return list.Stats().Age.Seconds() })
	n.metrics.Counter("petcat_catalog_freshness_queries_total", func() float64 { return float64(list.Stats().Queries) })
	n.metrics.Counter("petcat_catalog_stale_total", func() float64 { return float64(list.Stats().Stale) })
	return &backend{
		store: st, list: list, counters: st, place: postgres.Place(n.settings.Database),
		check: func(ctx context.Context) {
			_ = st.Check(ctx) // Stats reports the outcome
			list.Check(ctx)
		},
		status: func() storeStatus {
			stats := st.Stats()
			return storeStatus{readable: stats.Readable, writable: stats.Writable, waiting: stats.Waiting, shed: stats.Shed}
		},
	}, list.Load(ctx, st)
}

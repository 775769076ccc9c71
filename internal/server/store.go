package server

import (
	"context"
	"log/slog"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/catalog"
	"petcat/internal/console"
	"petcat/internal/datadir"
	"petcat/internal/httpapi"
	"petcat/internal/portal"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
	"petcat/internal/store"
)

// Store is the data of a deployment, in one database.
type Store interface {
	httpapi.Store
	console.Store
	petcat.ManagementStore
	portal.Store
	backup.Notes
	Environment() petcat.Environment
	Dataset() string
	// LogLevel returns the log level that an operator set for all nodes, and when it expires; the
	// zero time if none was set.
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
	// OnAccessChange sets a function that is called after each change of an account, a key or
	// a ban by this process.
	OnAccessChange(fn func(context.Context))
	// Clean deletes expired rows.
	Clean(ctx context.Context) error
	// Created reports whether the data was created when the store was opened.
	Created() bool
}

// categoryList is the list of categories that a node serves.
type categoryList interface {
	// Current returns the list, and its maximum age. newest is the newest revision in the store,
	// if it was read after the request arrived, or 0.
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
	// Count returns the number of categories in memory, without a query.
	Count() int64
}

// openStore opens the store, and loads the categories into memory.
func (n *Node) openStore(ctx context.Context) error {
	open, place := n.openPostgres, postgres.Place(n.Settings.Database)
	if n.Settings.UsesSQLite() {
		open, place = n.openSQLite, n.Settings.Data
	}
	if err := open(ctx); err != nil {
		return err
	}
	if n.store.Created() {
		n.Log.InfoContext(ctx, "new deployment created, without keys",
			"place", place,
			"environment", n.store.Environment())
	}
	n.metrics.Read("petcat_categories", func() float64 { return float64(n.list.Count()) })
	n.metrics.Read("petcat_store_up", func() float64 {
		r, _ := n.readiness()
		return gauge(r.Checks["store"] == healthy)
	})
	return nil
}

// openSQLite opens the file in the data directory. This process is its only server, so each commit
// is added to the list before it is acknowledged.
func (n *Node) openSQLite(ctx context.Context) error {
	dir, err := datadir.Open(n.Settings.Data, n.Settings.Init)
	if err != nil {
		return err
	}
	lock, err := dir.LockServer()
	if err != nil {
		return err
	}
	n.onClose(func(context.Context) error { return lock.Close() })
	var list *catalog.Catalog
	db, err := sqlite.Open(ctx, sqlite.Options{
		Dir:         dir,
		Environment: n.Settings.Environment,
		Clock:       n.Clock,
		Logger:      n.Log.Logger,
		Serving:     true,
		// list is set below, before any category is written.
		CategoriesCommitted: func(created []petcat.RevisedCategory) { list.Apply(created) },
		CommitObserved:      n.metrics.Commit,
	})
	if err != nil {
		return err
	}
	n.onClose(func(context.Context) error { return db.Close() })
	st := store.New(db, n.Clock)
	// This node is the only one, so all earlier nodes have ended. If this fails, Clean does it
	// later.
	_ = st.MarkKilledNodes(ctx, 0)
	list = catalog.New(st.Dataset())
	n.store, n.db, n.list = st, db, list
	n.metrics.Read("petcat_store_queue", func() float64 { return float64(db.Stats().Waiting) })
	n.metrics.Read("petcat_store_shed_total", func() float64 { return float64(db.Stats().Shed) })
	n.metrics.Read("petcat_store_wal_bytes", func() float64 { return float64(db.WALBytes()) })
	n.metrics.Read("petcat_store_free_bytes", func() float64 {
		free, _, _ := datadir.Room(dir.Disk())
		return float64(free)
	})
	n.metrics.Read("petcat_store_disk_bytes", func() float64 {
		_, size, _ := datadir.Room(dir.Disk())
		return float64(size)
	})
	return list.Load(ctx, st)
}

// openPostgres opens a database that several nodes can share. Before it serves a list, the node
// checks for changes by other nodes.
func (n *Node) openPostgres(ctx context.Context) error {
	db, err := postgres.Open(ctx, postgres.Options{
		URL:            n.Settings.Database,
		Environment:    n.Settings.Environment,
		Clock:          n.Clock,
		Serving:        true,
		MustExist:      !n.Settings.Init,
		CommitObserved: n.metrics.Commit,
	})
	if err != nil {
		return err
	}
	st := store.New(db, n.Clock)
	list := catalog.NewReplica(ctx, catalog.New(st.Dataset()+db.HistoryID()), catalog.ReplicaOptions{
		Feed:         st,
		Clock:        n.Clock,
		Logger:       n.Log.Logger,
		MaxStaleness: n.Settings.MaxStaleness,
	})
	n.onClose(func(context.Context) error {
		list.Close()
		return db.Close()
	})
	n.store, n.db, n.list, n.counters = st, db, list, db
	n.metrics.Read("petcat_store_queue", func() float64 { return float64(db.Stats().Waiting) })
	n.metrics.Read("petcat_store_shed_total", func() float64 { return float64(db.Stats().Shed) })
	n.metrics.Read("petcat_store_connections", func() float64 { return float64(db.Stats().Connections) })
	n.metrics.Read("petcat_store_connections_in_use", func() float64 { return float64(db.Stats().InUse) })
	n.metrics.Read("petcat_clock_ahead_of_database_seconds", func() float64 { return db.Stats().ClockAhead.Seconds() })
	n.metrics.Read("petcat_catalog_age_seconds", func() float64 { return list.Stats().Age.Seconds() })
	n.metrics.Read("petcat_catalog_freshness_queries_total", func() float64 { return float64(list.Stats().Queries) })
	n.metrics.Read("petcat_catalog_stale_total", func() float64 { return float64(list.Stats().Stale) })
	if err := list.Load(ctx, st); err != nil {
		return err
	}
	n.every(checkInterval, list.Check) // its age is also known without requests
	return nil
}

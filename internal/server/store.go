package server

import (
	"context"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/postgres"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// categoryList is the category list that a node serves.
type categoryList interface {
	// Current returns the list, and its maximum age. newest is the newest revision in the store,
	// if it was read after the request arrived, or 0.
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
	// Count returns the number of categories in memory, without a query.
	Count() int64
	// Holdings returns the storage of an account and of all accounts, without a query.
	Holdings(account petcat.AccountID) petcat.Holdings
	// Release frees the encodings that have not been requested since the last call.
	BoundReaders(bytes int64)
	Release()
}

// releaseInterval is the time without requests after which an encoding of the list is freed. It is made
// again on request, which takes some milliseconds per megabyte.
const releaseInterval = 5 * time.Minute

// data is the opened data of a deployment, with the categories in memory.
type data struct {
	store    *store.Store
	db       store.Database
	list     categoryList
	counters petcat.QuotaStore // counters that nodes share; nil with SQLite
}

// openData opens the data, and loads the categories into memory.
func (b base) openData(ctx context.Context) (*data, error) {
	open, place := b.openPostgres, postgres.Place(b.Settings.Database)
	if b.Settings.UsesSQLite() {
		open, place = b.openSQLite, b.Settings.Data
	}
	d, err := open(ctx)
	if err != nil {
		return nil, err
	}
	if d.store.Created() {
		b.Log.InfoContext(ctx, "new deployment created, without keys",
			"place", place,
			"environment", d.store.Environment())
	}
	d.store.BoundCategories(d.list.Holdings, b.Settings.MaxCategoriesSize)
	d.list.BoundReaders(b.Settings.MaxCategoriesSize / 2)
	b.lifetime.every(releaseInterval, func(context.Context) { d.list.Release() })
	b.metrics.Read("petcat_categories", func() float64 { return float64(d.list.Count()) })
	b.metrics.Read("petcat_catalog_bytes", func() float64 { return float64(d.list.Holdings(0).All.Bytes) })
	b.metrics.Read("petcat_catalog_max_bytes", func() float64 { return float64(b.Settings.MaxCategoriesSize) })
	return d, nil
}

// openSQLite opens the file in the data directory. This process is its only server: each of its commits
// is added to the list before it is acknowledged, and commands' commits within a second.
func (b base) openSQLite(ctx context.Context) (*data, error) {
	dir, err := datadir.Open(b.Settings.Data, b.Settings.Init)
	if err != nil {
		return nil, err
	}
	lock, err := dir.LockServer()
	if err != nil {
		return nil, err
	}
	b.lifetime.onClose(func(context.Context) error { return lock.Close() })
	db, err := sqlite.Open(ctx, sqlite.Options{
		Dir:            dir,
		Environment:    b.Settings.Environment,
		Clock:          b.Clock,
		Logger:         b.Log.Logger,
		Serving:        true,
		CommitObserved: b.metrics.Commit,
	})
	if err != nil {
		return nil, err
	}
	b.lifetime.onClose(func(context.Context) error { return db.Close() })
	st := store.New(db, b.Clock)
	list := catalog.New(st.Dataset())
	// This node is the only one, so all earlier nodes have exited. If this fails, Clean does it
	// later.
	_ = st.MarkKilledNodes(ctx, 0)
	b.metrics.Read("petcat_store_queue", func() float64 { return float64(db.Stats().Waiting) })
	b.metrics.Read("petcat_store_shed_total", func() float64 { return float64(db.Stats().Shed) })
	b.metrics.Read("petcat_store_wal_bytes", func() float64 { return float64(db.WALBytes()) })
	b.metrics.Read("petcat_store_free_bytes", func() float64 {
		free, _, _ := datadir.Room(dir.Disk())
		return float64(free)
	})
	b.metrics.Read("petcat_store_disk_bytes", func() float64 {
		_, size, _ := datadir.Room(dir.Disk())
		return float64(size)
	})
	if err := list.Load(ctx, st); err != nil {
		return nil, err
	}
	db.OnCategoriesCommitted(list.Apply)
	b.lifetime.every(checkInterval, func(ctx context.Context) {
		_ = db.CatchUp(ctx) // the next one repeats it; health checks report a failing database
	})
	return &data{
		store: st,
		db:    db,
		list:  list,
	}, nil
}

// openPostgres opens a database that several nodes can share. Before it serves a list, the node
// checks for changes by other nodes.
func (b base) openPostgres(ctx context.Context) (*data, error) {
	db, err := postgres.Open(ctx, postgres.Options{
		URL:            b.Settings.Database,
		Environment:    b.Settings.Environment,
		Clock:          b.Clock,
		Serving:        true,
		MustExist:      !b.Settings.Init,
		CommitObserved: b.metrics.Commit,
	})
	if err != nil {
		return nil, err
	}
	st := store.New(db, b.Clock)
	list := catalog.NewReplica(ctx, catalog.New(st.Dataset()+db.HistoryID()), catalog.ReplicaOptions{
		Feed:         st,
		Clock:        b.Clock,
		Logger:       b.Log.Logger,
		MaxStaleness: b.Settings.MaxStaleness,
	})
	b.lifetime.onClose(func(context.Context) error {
		list.Close()
		return db.Close()
	})
	b.metrics.Read("petcat_store_queue", func() float64 { return float64(db.Stats().Waiting) })
	b.metrics.Read("petcat_store_shed_total", func() float64 { return float64(db.Stats().Shed) })
	b.metrics.Read("petcat_store_connections", func() float64 { return float64(db.Stats().Connections) })
	b.metrics.Read("petcat_store_connections_in_use", func() float64 { return float64(db.Stats().InUse) })
	b.metrics.Read("petcat_clock_ahead_of_database_seconds", func() float64 { return db.Stats().ClockAhead.Seconds() })
	b.metrics.Read("petcat_catalog_age_seconds", func() float64 { return list.Stats().Age.Seconds() })
	b.metrics.Read("petcat_catalog_freshness_queries_total", func() float64 { return float64(list.Stats().Queries) })
	b.metrics.Read("petcat_catalog_stale_total", func() float64 { return float64(list.Stats().Stale) })
	if err := list.Load(ctx, st); err != nil {
		return nil, err
	}
	b.lifetime.every(checkInterval, list.Check) // its age is also known without requests
	return &data{
		store:    st,
		db:       db,
		list:     list,
		counters: db,
	}, nil
}

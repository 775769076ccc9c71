package server

import (
	"context"
	"io"
	"math"
	"sync/atomic"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/config"
	"petcat/internal/datadir"
	"petcat/internal/metrics"
	"petcat/internal/sqlite"
)

// sqliteBackend is the file in the data directory, of which this process is the only
// server: each commit is handed to the list before it is acknowledged.
type sqliteBackend struct {
	*sqlite.Store

	dir        *datadir.Dir
	lock       io.Closer
	categories *catalog.Catalog
	unreadable atomic.Bool
}

func (n *Node) openSQLite(ctx context.Context) (backend, error) {
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
	b := &sqliteBackend{dir: dir, lock: lock}
	b.Store, err = sqlite.Open(ctx, sqlite.Options{
		Dir: dir, Environment: n.settings.Environment, Clock: n.clock, Logger: n.log.Logger, Serving: true, Migrate: true,
		// No category is written before b.categories is set below.
		CategoriesCommitted: func(created []petcat.RevisedCategory) { b.categories.Apply(created) },
		CommitObserved:      n.metrics.Commit,
	})
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	// This node is the only one, so all others have ended. If this fails, the store's
	// periodic cleaning does it later.
	_ = b.NoteKilledNodes(ctx, 0)
	b.categories = catalog.New(b.Dataset())
	if err := b.categories.Load(ctx, b.Store); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

func (b *sqliteBackend) list() categoryList { return b.categories }

func (b *sqliteBackend) place() string { return b.dir.Path() }

func (b *sqliteBackend) registry() registry { return nil }

func (b *sqliteBackend) counters() petcat.QuotaStore { return nil }

func (b *sqliteBackend) check(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, checkInterval)
	defer cancel()
	if err := b.Check(limited); ctx.Err() == nil {
		b.unreadable.Store(err != nil)
	}
}

func (b *sqliteBackend) status() storeStatus {
	stats := b.Stats()
	return storeStatus{
		readable: !b.unreadable.Load(), writable: stats.Writable,
		waiting: stats.Waiting, shed: stats.Shed,
	}
}

func (b *sqliteBackend) registerMetrics(m *metrics.Metrics) {
	m.Gauge("petcat_store_free_bytes", func() float64 { return freeBytes(b.dir) })
	m.Gauge("petcat_store_wal_bytes", func() float64 { return float64(b.WALBytes()) })
}

// Close closes the store, and then unlocks the data directory for other servers.
func (b *sqliteBackend) Close() error {
	err := b.Store.Close()
	if lockErr := b.lock.Close(); err == nil {
		err = lockErr
	}
	return err
}

// freeBytes returns how much room the disk has for the data, NaN if that is unknown.
func freeBytes(dir *datadir.Dir) float64 {
	free, err := dir.FreeBytes()
	if err != nil {
		return math.NaN()
	}
	return float64(free)
}

package main

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/datadir"
	"petcat/internal/metrics"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

// backend is where a server keeps its data.
type backend interface {
	store
	petcat.CategoryStore
	petcat.DayStore
	petcat.AccessStore
	Dataset() string
}

// categoryList is the list that a server shows.
type categoryList interface {
	Current(ctx context.Context) (list *catalog.Snapshot, age time.Duration, err error)
	// Count returns how many categories are known, and asks nobody.
	Count() int64
}

// backing is a backend with what a server needs to know of its kind.
type backing struct {
	backend
	list categoryList
	// failed is closed when nothing can be written any more until the program
	// is started again; nil for a backend that recovers by itself.
	failed <-chan struct{}
	err    func() error // why
	// readable and writable tell whether it works at the moment.
	readable, writable func() bool
	// check looks whether it does, so that this is known without requests.
	check   func(ctx context.Context)
	waiting func() int    // writes in the queue
	shed    func() uint64 // writes refused because too many waited
	watch   func(m *metrics.Metrics)
	// beat says that this node serves, and returns all that do; nil where there can
	// be only one.
	beat  func(ctx context.Context, cutOff uint64) ([]counters.Member, error)
	leave func(ctx context.Context) error
	// closers run in the reverse order.
	closers []func() error
}

func (b *backing) hasFailed() bool {
	select {
	case <-b.failed:
		return true
	default:
		return false
	}
}

func (b *backing) Close() error {
	var first error
	for _, closer := range slices.Backward(b.closers) {
		if err := closer(); first == nil {
			first = err
		}
	}
	return first
}

// opening is what opening a backend for a server takes.
type opening struct {
	settings Settings
	clock    clock.Clock
	logger   *slog.Logger
	metrics  *metrics.Metrics
	node     string // names this process among the nodes
}

// openBackend opens the data for a server, and reads the list. What it has opened
// is in the backing also when it fails.
func openBackend(ctx context.Context, s opening) (*backing, error) {
	b := &backing{}
	if s.settings.sqlite() {
		return b, b.openSQLite(ctx, s)
	}
	return b, b.openPostgres(ctx, s)
}

// openSQLite opens the file in the data directory, of which this process is the
// only server: each commit is handed to the list before it is acknowledged.
func (b *backing) openSQLite(ctx context.Context, s opening) error {
	dir, err := datadir.Open(s.settings.Data)
	if err != nil {
		return err
	}
	lock, err := dir.LockServer()
	if err != nil {
		return err
	}
	b.closers = append(b.closers, lock.Close)
	var list *catalog.Catalog
	st, err := sqlite.Open(ctx, sqlite.Options{
		Dir: dir, Environment: s.settings.Environment, Clock: s.clock, Logger: s.logger, Serving: true, Migrate: true,
		// No write can come before the list is there.
		CategoriesCommitted: func(created []petcat.RevisedCategory) { list.Apply(created) },
		CommitObserved:      s.metrics.Commit,
	})
	if err != nil {
		return err
	}
	b.closers = append(b.closers, st.Close)
	b.backend, b.failed, b.err = st, st.Failed(), st.Err
	var unreadable atomic.Bool
	b.check = func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, checkEvery)
		defer cancel()
		if err := st.Check(limited); ctx.Err() == nil {
			unreadable.Store(err != nil)
		}
	}
	b.readable = func() bool { return !unreadable.Load() }
	b.writable = func() bool { return st.Stats().Writable }
	b.waiting = func() int { return st.Stats().Waiting }
	b.shed = func() uint64 { return st.Stats().Shed }
	b.watch = func(m *metrics.Metrics) {
		m.Gauge("petcat_store_free_bytes", "Room on the disk of the embedded database.", func() float64 { return freeBytes(dir) })
		m.Gauge("petcat_store_wal_bytes", "Size of the write-ahead log of the embedded database.", func() float64 { return float64(st.Stats().WALBytes) })
	}
	list = catalog.New(st.Dataset())
	b.list = list
	return list.Load(ctx, st)
}

// openPostgres connects to the database that several nodes share: each list asks
// it for what the others created.
func (b *backing) openPostgres(ctx context.Context, s opening) error {
	st, err := postgres.Open(ctx, postgres.Options{
		URL: s.settings.Database, Environment: s.settings.Environment, Clock: s.clock, Logger: s.logger, Serving: true, Migrate: true,
		CommitObserved: s.metrics.Commit,
	})
	if err != nil {
		return err
	}
	b.closers = append(b.closers, st.Close)
	b.backend = st
	b.readable = func() bool { return st.Stats().Readable }
	b.writable = func() bool { return st.Stats().Writable }
	b.waiting = func() int { return st.Stats().Waiting }
	b.shed = func() uint64 { return st.Stats().Shed }
	b.beat = func(ctx context.Context, cutOff uint64) ([]counters.Member, error) {
		return st.Beat(ctx, s.node, cutOff)
	}
	b.leave = func(ctx context.Context) error { return st.Leave(ctx, s.node) }
	fresh := catalog.NewFresh(ctx, catalog.New(st.Dataset()), catalog.FreshOptions{
		Feed: st, Clock: s.clock, Logger: s.logger, MaxStaleness: s.settings.MaxStaleness,
	})
	b.closers = append(b.closers, func() error { fresh.Close(); return nil })
	b.list = fresh
	b.check = func(ctx context.Context) {
		_ = st.Check(ctx) // the store remembers
		fresh.Check(ctx)
	}
	b.watch = func(m *metrics.Metrics) { watchPostgres(m, st, fresh) }
	return fresh.Load(ctx, st)
}

package server

import (
	"context"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/metrics"
	"petcat/internal/postgres"
)

// postgresBackend is a database that several nodes share. Before each list, it is asked for
// what other nodes have changed.
type postgresBackend struct {
	*postgres.Store

	address    petcat.Secret
	categories *catalog.Replica
}

func (n *Node) openPostgres(ctx context.Context) (backend, error) {
	st, err := postgres.Open(ctx, postgres.Options{
		URL: n.settings.Database, Environment: n.settings.Environment, Clock: n.clock, Logger: n.log.Logger, Serving: true, Migrate: true, MustExist: !n.settings.Init,
		CommitObserved: n.metrics.Commit,
	})
	if err != nil {
		return nil, err
	}
	b := &postgresBackend{Store: st, address: n.settings.Database, categories: catalog.NewReplica(ctx, catalog.New(st.Dataset()+st.HistoryID()), catalog.ReplicaOptions{
		Feed: st, Clock: n.clock, Logger: n.log.Logger, MaxStaleness: n.settings.MaxStaleness,
	})}
	if err := b.categories.Load(ctx, st); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

func (b *postgresBackend) list() categoryList { return b.categories }

func (b *postgresBackend) place() string { return postgres.Place(b.address) }

func (b *postgresBackend) registry() registry { return b.Store }

func (b *postgresBackend) counters() petcat.QuotaStore { return b.Store }

func (b *postgresBackend) check(ctx context.Context) {
	_ = b.Check(ctx) // Stats reports the outcome
	b.categories.Check(ctx)
}

func (b *postgresBackend) status() storeStatus {
	stats := b.Stats()
	return storeStatus{readable: stats.Readable, writable: stats.Writable, waiting: stats.Waiting, shed: stats.Shed}
}

func (b *postgresBackend) registerMetrics(m *metrics.Metrics) {
	m.Gauge("petcat_store_connections", func() float64 { return float64(b.Stats().Connections) })
	m.Gauge("petcat_store_connections_in_use", func() float64 { return float64(b.Stats().InUse) })
	m.Gauge("petcat_clock_ahead_of_database_seconds", func() float64 {
		return b.Stats().ClockAhead.Seconds()
	})
	m.Gauge("petcat_catalog_age_seconds", func() float64 { return b.categories.Stats().Age.Seconds() })
	m.Counter("petcat_catalog_freshness_queries_total", func() float64 { return float64(b.categories.Stats().Queries) })
	m.Counter("petcat_catalog_stale_total", func() float64 { return float64(b.categories.Stats().Stale) })
}

// Close ends the freshness queries, and then closes the store.
func (b *postgresBackend) Close() error {
	b.categories.Close()
	return b.Store.Close()
}

package main

import (
	"context"

	"petcat/bench/report"
	"petcat/bench/server"
)

// The lists of nodes that count on other servers than one Redis.
const (
	databaseList = "petcat list, PostgreSQL alone"
	shardsList   = "petcat list, PostgreSQL and three shards of Redis"
	counted      = "counted" // requests that the counters decided
)

// nodesCounters compares the lists of nodes that count together in PostgreSQL, and on
// a cluster of Redis, with those of one that counts on one Redis.
func (s *suite) nodesCounters(ctx context.Context, group string) error {
	const database, shards = "several nodes: list, PostgreSQL alone", "several nodes: list, three shards"
	h, err := s.startShared(ctx, group)
	if err != nil {
		return err
	}
	defer h.stop()
	cluster, stop, err := server.Cluster(ctx, s.tools["redis"].path, h.dir)
	if err != nil {
		return err
	}
	defer stop()
	var subjects []subject
	for _, on := range []struct{ name, database, limiter string }{
		{databaseList, "alone", "database"}, {shardsList, "shards", cluster}, {sharedList, "list", h.redis.URL},
	} {
		p, err := s.serveShared(ctx, h, on.database, on.limiter, few)
		if err != nil {
			return err
		}
		defer p.Stop()
		sub := p.get(on.name)
		sub.meter = h.meter(p, map[string]string{counted: "petcat_limiter_duration_seconds_count"})
		subjects = append(subjects, sub)
	}
	m, err := s.compare(ctx, group, connections, subjects...)
	if err != nil {
		return err
	}
	s.counterRows(group, database, databaseList, m, report.AtLeast(0.3))
	s.counterRows(group, shards, shardsList, m, report.Figure{})
	s.add(m.value(group, database+", PostgreSQL's CPU per answer", "µs", databaseList, cpuOf(postgresCPU), report.Figure{}))
	return nil
}

// counterRows compares with one Redis. Nearly all requests must have been decided by
// the counters: those that a node decides by itself cost less.
func (s *suite) counterRows(group, what, subject string, m measured, figure report.Figure) {
	shared := func(s report.Sample) float64 { return s.Meters[counted] / s.Rate }
	s.add(
		m.ratio(group, what, "/s", subject, sharedList, rate, figure),
		m.ratio(group, what+", p99", "ms", subject, sharedList, p99, report.Figure{}),
		m.ratio(group, what+", petcat's CPU per answer", "µs", subject, sharedList, cpu, report.Figure{}),
		m.value(group, what+", part that the counters decided", "", subject, shared, report.AtLeast(0.98)),
	)
}

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/server"
)

// shared is what several nodes share: one PostgreSQL on this machine, for one group of measurements.
type shared struct {
	postgres *server.Server
	dir      string
}

func (h *shared) stop() { h.postgres.Stop() }

func (s *suite) startShared(ctx context.Context, name string) (*shared, error) {
	h := &shared{dir: filepath.Join(s.work, name)}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	h.postgres, err = s.startPostgres(ctx)
	return h, err
}

// startPostgres starts a PostgreSQL beside our directory, not in it: nobody else may look
// into ours, and it runs as somebody else.
func (s *suite) startPostgres(ctx context.Context) (*server.Server, error) {
	return server.Postgres(ctx, filepath.Dir(s.tools["postgres"].path), filepath.Dir(s.work))
}

// prepareShared makes a database for a node, with an account that no quota stops.
func (s *suite) prepareShared(ctx context.Context, h *shared, database string) (*prepared, error) {
	url, err := h.postgres.Database(ctx, database)
	if err != nil {
		return nil, err
	}
	p := &prepared{Petcat: server.Petcat{Program: s.tools["petcat"].path, Dir: h.dir, Database: url}}
	p.key, err = p.CreateKey(ctx, "bench", server.Unlimited)
	return p, err
}

// serveShared starts a node on a database that it prepares.
func (s *suite) serveShared(ctx context.Context, h *shared, database string, categories int) (*started, error) {
	p, err := s.prepareShared(ctx, h, database)
	if err != nil {
		return nil, err
	}
	running, err := p.Serve(ctx)
	if err != nil {
		return nil, err
	}
	st := &started{Server: running, prepared: p, n: categories}
	if err := st.fill(ctx); err != nil {
		running.Stop()
		return nil, err
	}
	return st, nil
}

// fill creates the same categories through the API that seed writes past it.
func (p *started) fill(ctx context.Context) error {
	for _, r := range seed.Records(p.n) {
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := expect(ctx, 201, "POST", p.URL+listPath, []string{p.bearer(), contentType}, body); err != nil {
			return err
		}
	}
	return nil
}

// Names of what a round counts besides answers.
const (
	questions    = "questions"
	createGroups = "groups" // of creates, committed
	postgresCPU  = "PostgreSQL's CPU in seconds"
)

// meter reads a node's metrics by name, and what the servers behind it use.
func (h *shared) meter(p *started, metrics map[string]string) func(context.Context) (map[string]float64, error) {
	return func(ctx context.Context) (map[string]float64, error) {
		read := map[string]float64{}
		var err error
		for name, metric := range metrics {
			if read[name], err = metricOf(ctx, p.Admin, metric); err != nil {
				return nil, err
			}
		}
		u, err := h.postgres.Usage()
		read[postgresCPU] = u.CPU.Seconds()
		return read, err
	}
}

// each returns how many answers there were to each of what was counted.
func each(name string) func(report.Sample) float64 {
	return func(s report.Sample) float64 {
		if s.Meters[name] == 0 {
			return 0
		}
		return s.Rate / s.Meters[name]
	}
}

// cpuOf returns the microseconds that a server behind petcat took for an answer.
func cpuOf(name string) func(report.Sample) float64 {
	return func(s report.Sample) float64 { return s.Meters[name] / s.Rate * 1e6 }
}

const (
	sharedList = "petcat list, PostgreSQL"
	singleList = "petcat list, SQLite, one node"
)

// nodesList compares the list of a node that asks PostgreSQL with that of one which does not
// need it.
func (s *suite) nodesList(ctx context.Context, group string) error {
	const what = "several nodes: a fresh list"
	h, err := s.startShared(ctx, group)
	if err != nil {
		return err
	}
	defer h.stop()
	p, err := s.serveShared(ctx, h, "list", few)
	if err != nil {
		return err
	}
	defer p.Stop()
	one, err := s.startWith(ctx, few)
	if err != nil {
		return err
	}
	defer one.Stop()

	sub := p.get(sharedList)
	sub.meter = h.meter(p, map[string]string{questions: "petcat_catalog_freshness_queries_total"})
	m, err := s.compare(ctx, group, connections, sub, one.get(singleList))
	if err != nil {
		return err
	}
	value := func(text, unit string, of func(report.Sample) float64) report.Row {
		return m.value(group, what+text, unit, sharedList, of, report.Figure{})
	}
	s.add(
		m.ratio(group, what, "/s", sharedList, singleList, rate, report.AtLeast(0.5)),
		m.ratio(group, what+", p99", "ms", sharedList, singleList, p99, report.Figure{}),
		m.ratio(group, what+", petcat's CPU per answer", "µs", sharedList, singleList, cpu, report.Figure{}),
		value(", PostgreSQL's CPU per answer", "µs", cpuOf(postgresCPU)),
		value(", questions to PostgreSQL", "/s", func(s report.Sample) float64 { return s.Meters[questions] }),
		value(", lists for each question", "", each(questions)),
	)
	return nil
}

// The names of three nodes' subjects.
const (
	oneDirect   = "one node"
	oneBehind   = "one node behind haproxy"
	threeBehind = "three nodes behind haproxy"
	threeConfig = "deploy/proxy/three-nodes.cfg"
	threeNodes  = 3
)

// nodesThree shows what three nodes and their proxy do on one machine, beside one
// of them: they share its processors, so this is what they cost, not what they
// would bring on machines of their own.
func (s *suite) nodesThree(ctx context.Context, group string) error {
	const list, create = "several nodes: list, three nodes behind haproxy", "several nodes: durable create, three nodes behind haproxy"
	h, err := s.startShared(ctx, group)
	if err != nil {
		return err
	}
	defer h.stop()
	first, err := s.serveShared(ctx, h, "three", few)
	if err != nil {
		return err
	}
	defer first.Stop()
	nodes := [threeNodes]*server.Server{first.Server}
	for i := 1; i < threeNodes; i++ {
		if nodes[i], err = first.Serve(ctx); err != nil {
			return err
		}
		defer nodes[i].Stop()
	}
	direct := first.get(oneDirect)
	subjects := []subject{direct}
	for name, behind := range map[string][threeNodes]*server.Server{
		oneBehind: {nodes[0], nodes[0], nodes[0]}, threeBehind: nodes,
	} {
		proxy, err := server.Proxy(ctx, s.tools["haproxy"].path, filepath.Join(s.root, threeConfig), h.dir, name, behind)
		if err != nil {
			return err
		}
		defer proxy.Stop()
		sub := direct
		sub.name, sub.server, sub.request.URL = name, proxy, proxy.URL+listPath
		sub.beside = nodes[:1]
		if name == threeBehind {
			sub.beside = nodes[:]
		}
		subjects = append(subjects, sub)
	}
	if err := s.threeRows(ctx, group, list, ", list", subjects); err != nil {
		return err
	}
	post, err := first.post("")
	if err != nil {
		return err
	}
	for i := range subjects {
		sub := &subjects[i]
		url := sub.request.URL
		sub.status, sub.body, sub.categories, sub.request = post.status, post.body, 0, post.request
		sub.request.URL = url
	}
	return s.threeRows(ctx, group, create, ", create", subjects)
}

// threeRows measures and compares with the one node and with the one behind a
// proxy.
func (s *suite) threeRows(ctx context.Context, group, what, suffix string, subjects []subject) error {
	named := make([]subject, len(subjects))
	for i, sub := range subjects {
		sub.name += suffix
		named[i] = sub
	}
	m, err := s.compare(ctx, group, connections, named...)
	if err != nil {
		return err
	}
	ours := m.of(threeBehind+suffix, rate).Values
	for _, yardstick := range []string{oneDirect, oneBehind} {
		s.add(report.Compare(group, what, "/s", ours, rename(m.of(yardstick+suffix, rate), yardstick), report.Figure{}))
	}
	return nil
}

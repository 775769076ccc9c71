package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/server"
	"petcat/bench/wrk"
)

// shared is what several nodes share: one PostgreSQL and one Redis on this
// machine, for one group of measurements.
type shared struct {
	postgres *server.PostgresServer
	redis    *server.RedisServer
	dir      string
}

func (h *shared) stop() {
	h.postgres.Stop()
	h.redis.Stop()
}

// absentServers says what of what nodes share is not there.
func (s *suite) absentServers() error {
	for _, name := range []string{"postgres", "redis"} {
		if absent := s.tools[name].absent; absent != "" {
			return errors.New(name + ": " + absent)
		}
	}
	return nil
}

func (s *suite) startShared(ctx context.Context, name string) (*shared, error) {
	h := &shared{dir: filepath.Join(s.work, name)}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if h.redis, err = server.Redis(ctx, s.tools["redis"].path, h.dir); err != nil {
		return nil, err
	}
	// Beside our directory, not in it: nobody else may look into ours, and it runs
	// as somebody else.
	if h.postgres, err = server.Postgres(ctx, filepath.Dir(s.tools["postgres"].path), filepath.Dir(s.work)); err != nil {
		h.redis.Stop()
		return nil, err
	}
	return h, nil
}

// node prepares a database for nodes that count together on a limiter, with an account
// that no quota stops.
func (s *suite) node(ctx context.Context, h *shared, database, limiter string) (*prepared, error) {
	url, err := h.postgres.Database(ctx, database)
	if err != nil {
		return nil, err
	}
	p := &prepared{Petcat: server.Petcat{Program: s.tools["petcat"].path, Dir: h.dir, Database: url, Limiter: limiter}}
	p.key, err = p.CreateKey(ctx, "bench", server.Unlimited)
	return p, err
}

// serveShared starts a node on a database that it prepares.
func (s *suite) serveShared(ctx context.Context, h *shared, database, limiter string, categories int) (*started, error) {
	p, err := s.node(ctx, h, database, limiter)
	if err != nil {
		return nil, err
	}
	running, err := p.Serve(ctx)
	if err != nil {
		return nil, err
	}
	st := &started{PetcatServer: running, prepared: p, n: categories}
	if err := st.fill(ctx); err != nil {
		running.Stop()
		return nil, err
	}
	return st, nil
}

// fill creates the same categories through the API that seed writes past it.
func (p *started) fill(ctx context.Context) error {
	for _, r := range seed.Records(p.n) {
		body, err := categoryBody(r)
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
	redisCPU     = "Redis' CPU in seconds"
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
		for name, process := range map[string]*server.Process{postgresCPU: h.postgres.Process, redisCPU: h.redis.Process} {
			u, err := process.Usage()
			if err != nil {
				return nil, err
			}
			read[name] = u.CPU.Seconds()
		}
		return read, nil
	}
}

func meterOf(name string) func(report.Sample) float64 {
	return func(s report.Sample) float64 { return s.Meters[name] }
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
	sharedList = "petcat list, PostgreSQL and Redis"
	singleList = "petcat list, SQLite, one node"
)

// nodesList compares the list of a node that asks PostgreSQL and Redis with that of
// one which needs neither.
func (s *suite) nodesList(ctx context.Context, group string) error {
	const what = "several nodes: a fresh list"
	figure := report.AtLeast(0.5)
	if absent := s.absentServers(); absent != nil {
		s.add(report.Missing(group, what, singleList, figure.Text(), absent.Error()))
		return nil
	}
	h, err := s.startShared(ctx, group)
	if err != nil {
		return err
	}
	defer h.stop()
	p, err := s.serveShared(ctx, h, "list", h.redis.URL, few)
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
	sub.meter = h.meter(p, map[string]string{questions: "petcat_list_questions_total"})
	m, err := s.compare(ctx, group, connections, sub, one.get(singleList))
	if err != nil {
		return err
	}
	row := func(what, unit string, of func(report.Sample) float64) report.Row {
		return report.Measure(group, what, unit, m.of(sharedList, of).Values, report.Figure{})
	}
	s.add(
		report.Compare(group, what, "/s", m.of(sharedList, rate).Values, m.of(singleList, rate), figure),
		report.Compare(group, what+", p99", "ms", m.of(sharedList, p99).Values, m.of(singleList, p99), report.Figure{}),
		report.Compare(group, what+", petcat's CPU per answer", "µs", m.of(sharedList, cpu).Values, m.of(singleList, cpu), report.Figure{}),
		row(what+", PostgreSQL's CPU per answer", "µs", cpuOf(postgresCPU)),
		row(what+", Redis' CPU per answer", "µs", cpuOf(redisCPU)),
		row(what+", questions to PostgreSQL", "/s", meterOf(questions)),
		row(what+", lists for each question", "", each(questions)),
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
	absent := s.absentServers()
	if why := s.tools["haproxy"].absent; absent == nil && why != "" {
		absent = errors.New(why)
	}
	if absent != nil {
		s.add(report.Missing(group, list, oneDirect, "", absent.Error()), report.Missing(group, create, oneDirect, "", absent.Error()))
		return nil
	}
	h, err := s.startShared(ctx, group)
	if err != nil {
		return err
	}
	defer h.stop()
	first, err := s.serveShared(ctx, h, "three", h.redis.URL, few)
	if err != nil {
		return err
	}
	defer first.Stop()
	nodes := [threeNodes]*server.PetcatServer{first.PetcatServer}
	for i := 1; i < threeNodes; i++ {
		if nodes[i], err = first.Serve(ctx); err != nil {
			return err
		}
		defer nodes[i].Stop()
	}
	direct := first.get(oneDirect)
	subjects := []subject{direct}
	for name, behind := range map[string][threeNodes]*server.PetcatServer{
		oneBehind: {nodes[0], nodes[0], nodes[0]}, threeBehind: nodes,
	} {
		proxy, err := server.Proxy(ctx, s.tools["haproxy"].path, filepath.Join(s.root, threeConfig), h.dir, name, behind)
		if err != nil {
			return err
		}
		defer proxy.Stop()
		sub := direct
		sub.name, sub.process, sub.request.URL = name, proxy.Process, proxy.URL+listPath
		sub.beside = []*server.Process{nodes[0].Process}
		if name == threeBehind {
			sub.beside = append(sub.beside, nodes[1].Process, nodes[2].Process)
		}
		subjects = append(subjects, sub)
	}
	if err := s.threeRows(ctx, group, list, ", list", subjects); err != nil {
		return err
	}
	bodyFile, body, err := s.createBody(h.dir)
	if err != nil {
		return err
	}
	for i := range subjects {
		sub := &subjects[i]
		sub.status, sub.body, sub.categories = 201, body, 0
		sub.request = wrk.Request{Method: "POST", URL: sub.request.URL, BodyFile: bodyFile, Header: []string{first.bearer(), contentType}}
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

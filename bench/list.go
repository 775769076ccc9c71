package main

import (
	"context"
	"errors"
	"fmt"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/server"
	"petcat/bench/wrk"
)

// few is how many categories a list has where its size does not matter.
const few = 10

// Names of subjects that plots look for.
const (
	petcatList = "petcat list"
	bareList   = "bare list"
)

// started is petcat with a number of categories.
type started struct {
	*server.PetcatServer
	*prepared
	files server.Files // its list, for others to serve
	list  server.Answer
	n     int
}

// startWith starts petcat with so many categories.
func (s *suite) startWith(ctx context.Context, n int) (*started, error) {
	p, err := s.with(ctx, n)
	if err != nil {
		return nil, err
	}
	running, err := p.Serve(ctx)
	if err != nil {
		return nil, err
	}
	st := &started{PetcatServer: running, prepared: p, n: n}
	st.files, st.list, err = s.keep(ctx, running, p.bearer(), fmt.Sprint(n))
	if err != nil {
		running.Stop()
		return nil, err
	}
	return st, nil
}

// get is a subject that asks petcat for the list.
func (p *started) get(name string, header ...string) subject {
	return subject{
		name: name, process: p.Process, status: 200, categories: p.n,
		request: wrk.Request{Method: "GET", URL: p.URL + listPath, Header: append([]string{p.bearer()}, header...)},
	}
}

// bareGet starts the bare server with petcat's list.
func (s *suite) bareGet(ctx context.Context, p *started) (subject, error) {
	b, err := server.Bare(ctx, s.tools["bare"].path, p.Dir, p.files)
	if err != nil {
		return subject{}, err
	}
	return subject{
		name: bareList, process: b.Process, status: 200, categories: p.n,
		request: wrk.Request{Method: "GET", URL: b.URL + listPath, Header: []string{p.bearer()}},
	}, nil
}

// list compares the list of ten categories with everybody else's.
func (s *suite) list(ctx context.Context, group string) error {
	const what = "list of 10 categories"
	p, err := s.startWith(ctx, few)
	if err != nil {
		return err
	}
	defer p.Stop()
	bare, err := s.bareGet(ctx, p)
	if err != nil {
		return err
	}
	defer bare.process.Stop()

	subjects := []subject{p.get(petcatList), bare}
	absent := map[string]string{}
	for _, startPeer := range []func(context.Context, *started) (subject, error){
		s.nginxGet, s.nginxCachedGet, s.haproxyGet, s.pocketBaseGet,
	} {
		sub, err := startPeer(ctx, p)
		if err != nil {
			absent[sub.name] = firstLine(err)
			s.say("   %s is absent: %v", sub.name, err)
			continue
		}
		defer sub.process.Stop()
		subjects = append(subjects, sub)
	}
	m, err := s.compare(ctx, group, connections, subjects...)
	if err != nil {
		return err
	}
	ours := m.of(petcatList, rate).Values
	against := func(peer string, f report.Figure) {
		if why := absent[peer]; why != "" {
			s.add(report.Missing(group, what, peer, f.Text(), why))
			return
		}
		s.add(report.Compare(group, what, "/s", ours, m.of(peer, rate), f))
	}
	against(bareList, report.AtLeast(0.95))
	against(nginxList, report.AtLeast(1))
	against(pocketBaseList, report.AtLeast(12))
	s.add(report.Compare(group, what+", p99", "ms", m.of(petcatList, p99).Values, m.of(bareList, p99), report.AtMost(1.1)))
	s.add(report.Compare(group, what+", CPU per answer", "µs", m.of(petcatList, cpu).Values, m.of(bareList, cpu), report.Figure{}))
	against(nginxCachedList, report.Figure{})
	against(haproxyList, report.Figure{})
	return nil
}

const (
	nginxList       = "nginx list"
	nginxCachedList = "nginx list, file kept open"
	haproxyList     = "haproxy list"
	pocketBaseList  = "PocketBase list"
)

// static is what nginx and haproxy are to serve.
func (s *suite) static(name string, p *started) (server.Static, error) {
	t := s.tools[name]
	if t.absent != "" {
		return server.Static{}, errors.New(t.absent)
	}
	return server.Static{Program: t.path, Dir: p.Dir, Header: p.list.Additional(), Body: p.files.ListBody, Key: p.key}, nil
}

func (s *suite) nginxGet(ctx context.Context, p *started) (subject, error) {
	static, err := s.static("nginx", p)
	return staticGet(ctx, nginxList, static, p, err, server.Nginx)
}

func (s *suite) nginxCachedGet(ctx context.Context, p *started) (subject, error) {
	static, err := s.static("nginx", p)
	static.KeepOpen = true
	return staticGet(ctx, nginxCachedList, static, p, err, server.Nginx)
}

func (s *suite) haproxyGet(ctx context.Context, p *started) (subject, error) {
	static, err := s.static("haproxy", p)
	return staticGet(ctx, haproxyList, static, p, err, server.Haproxy)
}

// staticGet starts a server of fixed answers, and makes sure that it serves
// petcat's bytes, and none without a key.
func staticGet(ctx context.Context, name string, static server.Static, p *started, err error,
	start func(context.Context, server.Static) (*server.Server, error),
) (subject, error) {
	sub := subject{name: name, status: 200, categories: p.n}
	if err != nil {
		return sub, err
	}
	running, err := start(ctx, static)
	if err != nil {
		return sub, err
	}
	sub.process = running.Process
	sub.request = wrk.Request{Method: "GET", URL: running.URL + listPath, Header: []string{p.bearer()}}
	a, err := expect(ctx, 200, "GET", sub.request.URL, sub.request.Header, nil)
	if err == nil {
		_, err = expect(ctx, 401, "GET", sub.request.URL, nil, nil)
	}
	if err == nil && string(a.Body) != string(p.list.Body) {
		err = fmt.Errorf("it serves other bytes: %.100q", a.Body)
	}
	for _, line := range static.Header {
		header, value, _ := cutHeader(line)
		if err == nil && a.Get(header) != value {
			err = fmt.Errorf("it answers %s: %q, not %q", header, a.Get(header), value)
		}
	}
	if err != nil {
		running.Stop()
	}
	return sub, err
}

func (s *suite) pocketBaseGet(ctx context.Context, p *started) (subject, error) {
	sub := subject{name: pocketBaseList, status: 200, categories: p.n}
	pb, err := s.pocketBase(ctx, p.Dir)
	if err != nil {
		return sub, err
	}
	sub.process = pb.Process
	sub.request = wrk.Request{Method: "GET", URL: pb.ListURL(p.n), Header: []string{"Authorization: " + pb.Token}}
	return sub, nil
}

// pocketBase starts PocketBase with ten categories.
func (s *suite) pocketBase(ctx context.Context, dir string) (*server.PocketBaseServer, error) {
	t := s.tools["pocketbase"]
	if t.absent != "" {
		return nil, errors.New(t.absent)
	}
	var records []server.Record
	for _, r := range seed.Records(few) {
		records = append(records, server.Record{Name: r.Name, Description: r.Description})
	}
	return server.PocketBase(ctx, t.path, dir, records)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	*server.Server
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
	st := &started{Server: running, prepared: p, n: n}
	dir := filepath.Join(s.work, fmt.Sprintf("answers-%d", n))
	st.files.ListHeader, st.files.ListBody = filepath.Join(dir, "header"), filepath.Join(dir, "body")
	err = os.MkdirAll(dir, 0o700)
	if err == nil {
		st.list, err = expect(ctx, 200, "GET", st.URL+listPath, []string{p.bearer()}, nil)
	}
	if err == nil {
		err = st.list.Keep(st.files.ListHeader, st.files.ListBody)
	}
	if err != nil {
		running.Stop()
		return nil, err
	}
	return st, nil
}

// get is a subject that asks petcat for the list.
func (p *started) get(name string, header ...string) subject {
	return subject{
		name: name, server: p.Server, status: 200, categories: p.n,
		request: wrk.Request{Method: "GET", URL: p.URL + listPath, Header: append([]string{p.bearer()}, header...)},
	}
}

// post is a subject that creates the same category again and again.
func (p *started) post(name string, header ...string) (subject, error) {
	body, err := json.Marshal(seed.Records(1)[0])
	if err != nil {
		return subject{}, err
	}
	file := filepath.Join(p.Dir, "body.json")
	return subject{
		name: name, server: p.Server, status: 201, body: body,
		request: wrk.Request{
			Method: "POST", URL: p.URL + listPath, BodyFile: file,
			Header: append([]string{p.bearer(), contentType}, header...),
		},
	}, os.WriteFile(file, body, 0o600)
}

const contentType = "Content-Type: application/json"

// bareGet starts the bare server with petcat's list.
func (s *suite) bareGet(ctx context.Context, p *started) (subject, error) {
	b, err := server.Bare(ctx, s.tools["bare"].path, p.Dir, p.files)
	if err != nil {
		return subject{}, err
	}
	return subject{
		name: bareList, server: b, status: 200, categories: p.n,
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
	defer bare.server.Stop()

	subjects := []subject{p.get(petcatList), bare}
	absent := map[string]string{}
	for _, peer := range []struct {
		name  string
		start func(ctx context.Context, name string, p *started) (subject, error)
	}{
		{nginxList, s.static("nginx", false, server.Nginx)},
		{nginxCachedList, s.static("nginx", true, server.Nginx)},
		{haproxyList, s.static("haproxy", false, server.Haproxy)},
		{pocketBaseList, s.pocketBaseGet},
	} {
		sub, err := peer.start(ctx, peer.name, p)
		if err != nil {
			absent[peer.name] = firstLine(err)
			s.say("   %s is absent: %v", peer.name, err)
			continue
		}
		defer sub.server.Stop()
		subjects = append(subjects, sub)
	}
	m, err := s.compare(ctx, group, connections, subjects...)
	if err != nil {
		return err
	}
	against := func(peer string, f report.Figure) {
		if why := absent[peer]; why != "" {
			s.add(report.Missing(group, what, peer, f.Text(), why))
			return
		}
		s.add(m.ratio(group, what, "/s", petcatList, peer, rate, f))
	}
	against(bareList, report.AtLeast(0.95))
	against(nginxList, report.AtLeast(1))
	against(pocketBaseList, report.AtLeast(12))
	s.add(
		m.ratio(group, what+", p99", "ms", petcatList, bareList, p99, report.AtMost(1.1)),
		m.ratio(group, what+", CPU per answer", "µs", petcatList, bareList, cpu, report.Figure{}),
	)
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

// static returns how to start a server of fixed answers. What it starts serves
// petcat's bytes and headers, and none without a key.
func (s *suite) static(name string, keepOpen bool, start func(context.Context, server.Static) (*server.Server, error),
) func(context.Context, string, *started) (subject, error) {
	return func(ctx context.Context, subjectName string, p *started) (sub subject, err error) {
		t := s.tools[name]
		if t.absent != "" {
			return sub, errors.New(t.absent)
		}
		sub = p.get(subjectName)
		sub.server, err = start(ctx, server.Static{
			Program: t.path, Dir: p.Dir, Header: p.list.Additional(), Body: p.files.ListBody, Key: p.key, KeepOpen: keepOpen,
		})
		if err != nil {
			return sub, err
		}
		sub.request.URL = sub.server.URL + listPath
		if err = servesTheSame(ctx, sub.request, p.list); err != nil {
			sub.server.Stop()
		}
		return sub, err
	}
}

func servesTheSame(ctx context.Context, r wrk.Request, list server.Answer) error {
	a, err := expect(ctx, 200, "GET", r.URL, r.Header, nil)
	if err != nil {
		return err
	}
	if _, err := expect(ctx, 401, "GET", r.URL, nil, nil); err != nil {
		return err
	}
	if string(a.Body) != string(list.Body) {
		return fmt.Errorf("it serves other bytes: %.100q", a.Body)
	}
	for _, line := range list.Additional() {
		if name, value, _ := strings.Cut(line, ": "); a.Get(name) != value {
			return fmt.Errorf("it answers %s: %q, not %q", name, a.Get(name), value)
		}
	}
	return nil
}

func (s *suite) pocketBaseGet(ctx context.Context, name string, p *started) (subject, error) {
	sub := p.get(name)
	var err error
	if sub.server, err = s.pocketBase(ctx, p.Dir); err != nil {
		return sub, err
	}
	sub.request.URL = fmt.Sprintf("%s%s?perPage=%d", sub.server.URL, server.PocketBaseRecords, p.n)
	sub.request.Header = []string{"Authorization: " + sub.server.Token}
	return sub, nil
}

// pocketBase starts PocketBase with ten categories.
func (s *suite) pocketBase(ctx context.Context, dir string) (*server.Server, error) {
	t := s.tools["pocketbase"]
	if t.absent != "" {
		return nil, errors.New(t.absent)
	}
	return server.PocketBase(ctx, t.path, dir, seed.Records(few))
}

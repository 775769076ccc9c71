package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/server"
	"petcat/bench/wrk"
)

// Names of subjects that plots look for.
const (
	petcatCreate     = "petcat create"
	bareCreate       = "bare create"
	pocketBaseCreate = "PocketBase create"
)

// creating is petcat, and the bare server with the answer of a create.
type creating struct {
	petcat, bare subject
	dir          string
}

func (c creating) stop() {
	c.petcat.process.Stop()
	c.bare.process.Stop()
}

// newCategory is the body of every create.
func newCategory() ([]byte, error) {
	r := seed.Records(1)[0]
	return json.Marshal(server.Record{Name: r.Name, Description: r.Description})
}

const contentType = "Content-Type: application/json"

// startCreating starts both, petcat without categories: what one measurement
// created must not be in the way of the next.
func (s *suite) startCreating(ctx context.Context, name string) (c creating, err error) {
	body, err := newCategory()
	if err != nil {
		return c, err
	}
	p, err := s.fresh(ctx, name)
	if err != nil {
		return c, err
	}
	bodyFile := filepath.Join(p.Dir, "body.json")
	if err := os.WriteFile(bodyFile, body, 0o600); err != nil {
		return c, err
	}
	running, err := p.Serve(ctx)
	if err != nil {
		return c, err
	}
	c.dir = p.Dir
	c.petcat = subject{
		name: petcatCreate, process: running.Process, status: 201, body: body,
		request: wrk.Request{
			Method: "POST", URL: running.URL + listPath, BodyFile: bodyFile,
			Header: []string{p.bearer(), contentType},
		},
	}
	created, err := expect(ctx, 201, "POST", c.petcat.request.URL, c.petcat.request.Header, body)
	files := server.FilesIn(p.Dir)
	if err == nil {
		err = created.Keep(files.CreateHeader, files.CreateBody)
	}
	var bare *server.Server
	if err == nil {
		bare, err = server.Bare(ctx, s.tools["bare"].path, p.Dir, server.Files{CreateHeader: files.CreateHeader, CreateBody: files.CreateBody})
	}
	if err != nil {
		running.Stop()
		return c, err
	}
	c.bare = c.petcat
	c.bare.name, c.bare.process, c.bare.request.URL = bareCreate, bare.Process, bare.URL+listPath
	return c, nil
}

// creates compares durable creates with a server that stores nothing, and with
// one that stores as we do, at several numbers of connections.
func (s *suite) creates(ctx context.Context, group string) error {
	clients := []int{1, 4, 16, connections, 256}
	if s.quick {
		clients = []int{1, connections, 256}
	}
	for _, conns := range clients {
		if err := s.createAt(ctx, group, conns); err != nil {
			return fmt.Errorf("%d connections: %w", conns, err)
		}
	}
	return nil
}

func (s *suite) createAt(ctx context.Context, group string, conns int) error {
	c, err := s.startCreating(ctx, fmt.Sprintf("create-%d", conns))
	if err != nil {
		return err
	}
	defer c.stop()
	what := fmt.Sprintf("durable create, %d connections", conns)
	if conns == 1 {
		what = "durable create, one connection"
	}
	switch conns {
	case connections:
		return s.createAmongPeers(ctx, group, what, c)
	case 1, 256:
		m, err := s.compare(ctx, group, conns, c.petcat, c.bare)
		if err != nil {
			return err
		}
		s.add(report.Compare(group, what, "/s", m.of(petcatCreate, rate).Values, m.of(bareCreate, rate), report.Figure{}))
		return nil
	default: // for the plot of the latencies alone
		_, err := s.compare(ctx, group, conns, c.petcat)
		return err
	}
}

func (s *suite) createAmongPeers(ctx context.Context, group, what string, c creating) error {
	eightfold := report.AtLeast(8)
	subjects := []subject{c.petcat, c.bare}
	pb, absent := s.pocketBaseCreate(ctx, c)
	if absent == nil {
		defer pb.process.Stop()
		subjects = append(subjects, pb)
	}
	m, err := s.compare(ctx, group, connections, subjects...)
	if err != nil {
		return err
	}
	ours := m.of(petcatCreate, rate).Values
	s.add(report.Compare(group, what, "/s", ours, m.of(bareCreate, rate), report.AtLeast(0.55)))
	if absent == nil {
		s.add(report.Compare(group, what, "/s", ours, m.of(pocketBaseCreate, rate), eightfold))
	} else {
		s.add(report.Missing(group, what, pocketBaseCreate, eightfold.Text(), firstLine(absent)))
	}
	s.add(report.Measure(group, what+", p99", "ms", m.of(petcatCreate, p99).Values, report.AtMost(5)))
	return nil
}

func (s *suite) pocketBaseCreate(ctx context.Context, c creating) (subject, error) {
	pb, err := s.pocketBase(ctx, c.dir)
	if err != nil {
		return subject{}, err
	}
	sub := c.petcat
	sub.name, sub.process, sub.status = pocketBaseCreate, pb.Process, 200
	sub.request.URL = pb.CreateURL()
	sub.request.Header = []string{"Authorization: " + pb.Token, contentType}
	return sub, nil
}

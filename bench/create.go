package main

import (
	"context"
	"fmt"
	"path/filepath"

	"petcat/bench/report"
	"petcat/bench/server"
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
	c.petcat.server.Stop()
	c.bare.server.Stop()
}

// startCreating starts both, petcat without categories: what one measurement
// created must not be in the way of the next.
func (s *suite) startCreating(ctx context.Context, name string) (c creating, err error) {
	p, err := s.fresh(ctx, name)
	if err != nil {
		return c, err
	}
	running, err := p.Serve(ctx)
	if err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			running.Stop()
		}
	}()
	c.dir = p.Dir
	if c.petcat, err = (&started{Server: running, prepared: p}).post(petcatCreate); err != nil {
		return c, err
	}
	created, err := expect(ctx, 201, "POST", c.petcat.request.URL, c.petcat.request.Header, c.petcat.body)
	if err != nil {
		return c, err
	}
	files := server.Files{CreateHeader: filepath.Join(p.Dir, "create.header"), CreateBody: filepath.Join(p.Dir, "create.json")}
	if err := created.Keep(files.CreateHeader, files.CreateBody); err != nil {
		return c, err
	}
	c.bare = c.petcat
	c.bare.name = bareCreate
	if c.bare.server, err = server.Bare(ctx, s.tools["bare"].path, p.Dir, files); err != nil {
		return c, err
	}
	c.bare.request.URL = c.bare.server.URL + listPath
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
		s.add(m.ratio(group, what, "/s", petcatCreate, bareCreate, rate, report.Figure{}))
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
		defer pb.server.Stop()
		subjects = append(subjects, pb)
	}
	m, err := s.compare(ctx, group, connections, subjects...)
	if err != nil {
		return err
	}
	s.add(m.ratio(group, what, "/s", petcatCreate, bareCreate, rate, report.AtLeast(0.55)))
	if absent == nil {
		s.add(m.ratio(group, what, "/s", petcatCreate, pocketBaseCreate, rate, eightfold))
	} else {
		s.add(report.Missing(group, what, pocketBaseCreate, eightfold.Text(), firstLine(absent)))
	}
	s.add(m.value(group, what+", p99", "ms", petcatCreate, p99, report.AtMost(5)))
	return nil
}

func (s *suite) pocketBaseCreate(ctx context.Context, c creating) (subject, error) {
	pb, err := s.pocketBase(ctx, c.dir)
	if err != nil {
		return subject{}, err
	}
	sub := c.petcat
	sub.name, sub.server, sub.status = pocketBaseCreate, pb, 200
	sub.request.URL = pb.URL + server.PocketBaseRecords
	sub.request.Header = []string{"Authorization: " + pb.Token, contentType}
	return sub, nil
}

package main

import (
	"context"

	"petcat/bench/report"
)

// petcatUnchanged is petcat's answer to a client that has the list already.
const petcatUnchanged = "petcat 304"

// sizes shows what the number of categories costs: what every byte costs in any
// server, and what petcat does itself, which is nothing that grows.
func (s *suite) sizes(ctx context.Context, group string) error {
	var servers []*started
	sizes := []int{few, 100, 10_000, 100_000, million}
	if s.quick {
		sizes = []int{few, 100, 10_000, million}
	}
	for _, n := range sizes {
		p, err := s.startWith(ctx, n)
		if err != nil {
			return err
		}
		defer p.Stop()
		servers = append(servers, p)
	}
	for _, p := range servers {
		if p.n == few && s.wants("list") {
			continue // the group "list" has measured it
		}
		if err := s.size(ctx, group, p); err != nil {
			return err
		}
	}
	// A 304 is everything but the writing of the list.
	var subjects []subject
	for _, p := range servers {
		sub := p.get(unchangedOf(p.n), "If-None-Match: "+p.list.Get("ETag"))
		sub.status = 304
		subjects = append(subjects, sub)
	}
	m, err := s.compare(ctx, group, connections, subjects...)
	if err != nil {
		return err
	}
	most := servers[len(servers)-1].n
	s.add(report.Compare(group, "petcat's own CPU per answer (304), "+thousand(most)+" categories", "µs",
		m.of(unchangedOf(most), cpu).Values, rename(m.of(unchangedOf(few), cpu), "10 categories"), report.AtMost(1.1)))
	return nil
}

func unchangedOf(n int) string { return petcatUnchanged + " of " + thousand(n) }

func rename(c report.Column, name string) report.Column {
	c.Name = name
	return c
}

func thousand(n int) string { return report.Format(float64(n), "") }

// size compares the list of one size.
func (s *suite) size(ctx context.Context, group string, p *started) error {
	bare, err := s.bareGet(ctx, p)
	if err != nil {
		return err
	}
	defer bare.server.Stop()
	m, err := s.compare(ctx, group, connections, p.get(petcatList), bare)
	if err != nil {
		return err
	}
	s.add(m.ratio(group, "list of "+thousand(p.n)+" categories", "/s", petcatList, bareList, rate, report.AtLeast(0.95)))
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/server"
)

// compression shows that a list is compressed once for all who ask, and that a
// create does not make all of it be compressed again.
func (s *suite) compression(ctx context.Context, group string) error {
	const some = 10_000
	p, err := s.startWith(ctx, some)
	if err != nil {
		return err
	}
	defer p.Stop()
	plain := p.get("petcat list, not compressed")
	gzip := p.get("petcat list, gzip", "Accept-Encoding: gzip")
	zstd := p.get("petcat list, zstd", "Accept-Encoding: zstd")
	m, err := s.compare(ctx, group, connections, plain, gzip, zstd)
	if err != nil {
		return err
	}
	for _, sub := range []subject{gzip, zstd} {
		what := "list of " + thousand(some) + " categories, " + sub.name[len("petcat list, "):]
		s.add(report.Compare(group, what, "/s", m.of(sub.name, rate).Values, rename(m.of(plain.name, rate), "not compressed"), report.AtLeast(1)))
	}
	large, err := s.startWith(ctx, million)
	if err != nil {
		return err
	}
	defer large.Stop()
	first, err := firstByte(ctx, large.get(""))
	if err != nil {
		return err
	}
	s.add(report.Measure(group, "first gzip list ever, "+thousand(large.n)+" categories, first byte", "ms", []float64{first}, report.Figure{}))
	if err := s.afterWrite(ctx, group, "create", p, large, createLarge); err != nil {
		return err
	}
	return s.afterWrite(ctx, group, "change", p, large, changeAny)
}

// afterWrite compares the first compressed list after a write, of a short list and of a
// long one.
func (s *suite) afterWrite(ctx context.Context, group, name string, short, long *started, write func(context.Context, *started) error) error {
	after := map[int][]float64{}
	for range s.rounds {
		// Both have their turn until both have been through every state in which
		// what is still to be compressed can be.
		took := map[int][]float64{}
		for range turns {
			for _, p := range []*started{short, long} {
				if err := write(ctx, p); err != nil {
					return err
				}
				ms, err := firstByte(ctx, p.get(""))
				if err != nil {
					return err
				}
				took[p.n] = append(took[p.n], ms)
			}
		}
		for n, values := range took {
			after[n] = append(after[n], report.Median(values))
		}
	}
	what := "first gzip list after a " + name + ", " + thousand(long.n) + " categories, first byte"
	s.add(report.Compare(group, what, "ms", after[long.n],
		report.Column{Name: thousand(short.n) + " categories", Values: after[short.n]}, report.AtMost(1.5)))
	return nil
}

// The catalog compresses stretches of 128 KiB: so many creates of this size pass
// through one.
const (
	largeText = 5_000
	turns     = 26
)

// firstByte returns the milliseconds until a gzipped list begins to come.
func firstByte(ctx context.Context, sub subject) (float64, error) {
	header := append([]string{"Accept-Encoding: gzip"}, sub.request.Header...)
	a, err := server.Glance(ctx, sub.request.URL, header)
	if err == nil && a.Get("Content-Encoding") != "gzip" {
		err = fmt.Errorf("status %d, not compressed", a.Status)
	}
	return micros(a.FirstByte) / 1000, err
}

func createLarge(ctx context.Context, p *started) error {
	r := seed.Records(1)[0]
	text := strings.Repeat(r.Description+". ", 1+largeText/len(r.Description))[:largeText]
	body, err := json.Marshal(seed.Record{Name: r.Name, Description: text})
	if err != nil {
		return err
	}
	post := p.get("").request
	_, err = expect(ctx, 201, "POST", post.URL, append([]string{contentType}, post.Header...), body)
	return err
}

// changeAny changes a category that may be anywhere in the list.
func changeAny(ctx context.Context, p *started) error {
	id := 1 + rand.IntN(p.n) // #nosec G404 -- which one does not matter
	post := p.get("").request
	body := fmt.Appendf(nil, `{"name":"changed %d"}`, rand.Uint32())
	_, err := expect(ctx, 200, "PATCH", fmt.Sprintf("%s/%d", post.URL, id), append([]string{contentType}, post.Header...), body)
	return err
}

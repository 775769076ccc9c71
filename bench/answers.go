package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"petcat/bench/report"
	"petcat/bench/server"
	"petcat/bench/wrk"
)

// answers compares petcat's other answers with its own list of ten categories:
// none may be dearer.
func (s *suite) answers(ctx context.Context, group string) error {
	// Before it starts, so that no change of keys is heard of in between.
	prepared, err := s.with(ctx, few)
	if err != nil {
		return err
	}
	// Spent for the day, an account stays refused while a minute ends.
	spentKey, err := prepared.CreateKey(ctx, "spent", strconv.Itoa(small))
	if err != nil {
		return err
	}
	p, err := s.startWith(ctx, few)
	if err != nil {
		return err
	}
	defer p.Stop()

	full := p.get("petcat 200")
	unchanged := p.get("petcat 304", "If-None-Match: "+p.list.Get("ETag"))
	unchanged.status = 304
	stranger := full
	stranger.name, stranger.status, stranger.request.Header = "petcat 401", 401, nil
	// Six hundred of these get 401, all others of the minute 429.
	wrong := full
	wrong.name, wrong.status = "petcat 401 or 429, wrong checksum", 401
	wrong.request.Header = []string{"Authorization: Bearer " + wrongChecksum(p.key)}
	spent := full
	spent.name, spent.status = "petcat 429", 429
	spent.request.Header = []string{"Authorization: Bearer " + spentKey}
	if err := spend(ctx, spent.request); err != nil {
		return err
	}
	m, err := s.compare(ctx, group, connections, full, unchanged, stranger, wrong, spent)
	if err != nil {
		return err
	}
	for _, sub := range []subject{unchanged, stranger, wrong, spent} {
		s.noDearer(group, m, sub, full)
	}
	pumped := full
	pumped.name, pumped.pump = "petcat 200, pumped", true
	head := pumped
	head.name, head.request.Method = "petcat HEAD, pumped", "HEAD"
	if m, err = s.compare(ctx, group, connections, pumped, head); err != nil {
		return err
	}
	s.noDearer(group, m, head, pumped)
	return nil
}

// noDearer adds the rows of an answer that may cost no more than a list.
func (s *suite) noDearer(group string, m measured, sub, list subject) {
	what := strings.TrimPrefix(sub.name, "petcat ")
	s.add(
		m.ratio(group, what+", CPU per answer", "µs", sub.name, list.name, cpu, report.AtMost(1)),
		m.ratio(group, what, "/s", sub.name, list.name, rate, report.Figure{}),
	)
}

// small is a quota that is soon used up.
const small = 10

// spend uses it up.
func spend(ctx context.Context, r wrk.Request) error {
	for range 2 * small {
		a, err := server.Ask(ctx, r.Method, r.URL, r.Header, nil)
		if err != nil {
			return err
		}
		if a.Status == 429 {
			return nil
		}
	}
	return errors.New("an account was never refused")
}

// wrongChecksum changes the last character of a key, as a typing mistake would.
func wrongChecksum(key string) string {
	last := "0"
	if strings.HasSuffix(key, last) {
		last = "1"
	}
	return key[:len(key)-1] + last
}

// metricOf reads a metric without labels.
func metricOf(ctx context.Context, admin, name string) (float64, error) {
	a, err := expect(ctx, 200, "GET", admin+"/metrics", nil, nil)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(a.Body)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("petcat has no metric %s", name)
}

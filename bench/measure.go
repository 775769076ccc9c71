package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petcat/bench/report"
	"petcat/bench/server"
	"petcat/bench/wrk"
)

// subject is a request to a server that is compared with other subjects.
type subject struct {
	name       string
	server     *server.Server
	request    wrk.Request
	status     int // that every answer has
	body       []byte
	categories int
	pump       bool // wrk cannot send it
	// beside are servers of the same service, whose use counts as the first's.
	beside []*server.Server
	// meter reads what only grows, by name: what it grew by is in the samples.
	meter func(context.Context) (map[string]float64, error)
}

// usage is what the subject's processes have taken so far.
func (sub subject) usage() (server.Usage, error) {
	total, err := sub.server.Usage()
	for _, p := range sub.beside {
		u, err1 := p.Usage()
		total = server.Usage{CPU: total.CPU + u.CPU, Memory: total.Memory + u.Memory, PeakMem: total.PeakMem + u.PeakMem}
		err = errors.Join(err, err1)
	}
	return total, err
}

func (sub subject) read(ctx context.Context) (map[string]float64, error) {
	if sub.meter == nil {
		return nil, nil //nolint:nilnil // there is nothing to read
	}
	return sub.meter(ctx)
}

// measured are the samples of some subjects, by name.
type measured map[string][]report.Sample

func (m measured) of(subject string, pick func(report.Sample) float64) report.Column {
	c := report.Column{Name: subject}
	for _, s := range m[subject] {
		c.Values = append(c.Values, pick(s))
	}
	return c
}

// add takes the samples of another comparison, too.
func (m measured) add(other measured) {
	for name, samples := range other {
		m[name] = append(m[name], samples...)
	}
}

// ratio compares two subjects.
func (m measured) ratio(group, what, unit, ours, theirs string, pick func(report.Sample) float64, f report.Figure) report.Row {
	return report.Compare(group, what, unit, m.of(ours, pick).Values, m.of(theirs, pick), f)
}

// value is a row about one subject.
func (m measured) value(group, what, unit, subject string, pick func(report.Sample) float64, f report.Figure) report.Row {
	return report.Measure(group, what, unit, m.of(subject, pick).Values, f)
}

func rate(s report.Sample) float64 { return s.Rate }
func cpu(s report.Sample) float64  { return s.CPU }
func p50(s report.Sample) float64  { return s.P50 }
func p99(s report.Sample) float64  { return s.P99 / 1000 } // in milliseconds

// connections is how many clients ask at once where nothing else is said.
const connections = 64

// compare measures subjects in turns, A B C A B C, so that what the machine does
// meanwhile meets all of them.
func (s *suite) compare(ctx context.Context, group string, conns int, subjects ...subject) (measured, error) {
	m := measured{}
	sizes := map[string]int64{}
	for _, sub := range subjects {
		a, err := expect(ctx, sub.status, sub.request.Method, sub.request.URL, sub.request.Header, sub.body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sub.name, err)
		}
		sizes[sub.name] = a.Size()
		if !s.quick {
			if _, err := s.load(ctx, sub, conns, time.Second); err != nil {
				return nil, fmt.Errorf("%s: %w", sub.name, err)
			}
		}
	}
	for round := range s.rounds {
		for _, sub := range subjects {
			sample, err := s.sample(ctx, sub, conns, sizes[sub.name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sub.name, err)
			}
			sample.Group, sample.Round = group, round+1
			m[sub.name] = append(m[sub.name], sample)
			s.result.Samples = append(s.result.Samples, sample)
			s.say("   round %d of %d, %d connections: %-28s %12s, p50 %.0f µs, p99 %.0f µs, CPU %.1f µs",
				round+1, s.rounds, conns, sub.name, report.Format(sample.Rate, "/s"), sample.P50, sample.P99, sample.CPU)
		}
	}
	return m, nil
}

// inTurns runs what is to take turns with the rounds of compare: in each round,
// fn calls compare once, which then measures a single round.
func (s *suite) inTurns(fn func(round int) error) error {
	rounds := s.rounds
	defer func() { s.rounds = rounds }()
	s.rounds = 1
	for round := 1; round <= rounds; round++ {
		begun := len(s.result.Samples)
		if err := fn(round); err != nil {
			return err
		}
		for i := range s.result.Samples[begun:] {
			s.result.Samples[begun+i].Round = round
		}
	}
	return nil
}

// alternative is a subject whose server is started anew for each round.
type alternative struct {
	name    string
	measure func(round int) (measured, error) // compares the subject with nothing
}

// alternate measures the alternatives in turns.
func (s *suite) alternate(alternatives ...alternative) (measured, error) {
	all := measured{}
	err := s.inTurns(func(round int) error {
		for _, a := range alternatives {
			m, err := a.measure(round)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			all.add(m)
		}
		return nil
	})
	return all, err
}

// sample is one round of one subject.
func (s *suite) sample(ctx context.Context, sub subject, conns int, size int64) (report.Sample, error) {
	meterBefore, err := sub.read(ctx)
	if err != nil {
		return report.Sample{}, err
	}
	before, err := sub.usage()
	if err != nil {
		return report.Sample{}, err
	}
	result, err := s.load(ctx, sub, conns, s.duration)
	if err != nil {
		return report.Sample{}, err
	}
	after, err := sub.usage()
	if err != nil {
		return report.Sample{}, err
	}
	meterAfter, err := sub.read(ctx)
	if err != nil {
		return report.Sample{}, err
	}
	if err := checkStatuses(sub, result); err != nil {
		return report.Sample{}, err
	}
	rate := result.Rate(size)
	sample := report.Sample{
		Subject: sub.name, Categories: sub.categories, Connections: conns, Rate: rate,
		CPU:        micros(after.CPU-before.CPU) / (rate * result.Duration.Seconds()),
		P50:        micros(result.P50),
		P99:        micros(result.P99),
		PeakMemory: float64(after.PeakMem) / (1 << 20),
		AnswerSize: size, LoadGen: "wrk",
	}
	for name := range meterAfter {
		if sample.Meters == nil {
			sample.Meters = map[string]float64{}
		}
		sample.Meters[name] = (meterAfter[name] - meterBefore[name]) / result.Duration.Seconds()
	}
	if sub.pump {
		sample.LoadGen = "pump"
	}
	return sample, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (s *suite) load(ctx context.Context, sub subject, conns int, d time.Duration) (wrk.Result, error) {
	l := wrk.Load{Program: s.tools["wrk"].path, Connections: conns, Duration: d, Dir: s.work}
	if sub.pump {
		return wrk.Pump(ctx, sub.request, l)
	}
	return wrk.Run(ctx, sub.request, l)
}

// checkStatuses refuses numbers of something else than was to be measured.
func checkStatuses(sub subject, r wrk.Result) error {
	failed, want := r.Errors.Status, int64(0)
	if sub.status >= 400 {
		want = r.Requests
	}
	// wrk may have begun to count an answer when its time is up.
	if off := max(failed-want, want-failed); off > connections {
		return fmt.Errorf("%d of %d answers have another status than %d", off, r.Requests, sub.status)
	}
	return nil
}

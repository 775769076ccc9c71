package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"petcat/bench/report"
	"petcat/bench/wrk"
)

// Names of subjects that plots look for.
const (
	overloadCreate = "petcat create, slow PostgreSQL"
	overloadPeak   = "its peak"
)

// overloadWaiting is how many clients that wait for their answers show what the store can
// take: as many as fill two groups.
const overloadWaiting = 512

// slowly has PostgreSQL take a quarter of a second for each group of creates. What it takes
// then is little enough that the clients of several times as much fit on the same machine.
const slowly = `
	CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.25); RETURN NULL; END $$;
	CREATE TRIGGER slowly AFTER INSERT ON categories FOR EACH STATEMENT EXECUTE FUNCTION slowly()`

// overload offers a node more creates than its store can take.
func (s *suite) overload(ctx context.Context, group string) error {
	p, stop, err := s.serveSlowly(ctx, group)
	if err != nil {
		return err
	}
	defer stop()
	post, err := p.post(overloadCreate)
	if err != nil {
		return err
	}
	clients, err := wrk.NewClients(post.request, post.status)
	if err != nil {
		return err
	}
	defer clients.Close()
	offer := func(perSecond float64) (wrk.Offered, error) {
		return clients.Offer(ctx, wrk.Load{Connections: overloadWaiting, Duration: s.duration}, perSecond)
	}
	first, err := offer(0) // the pace is known from here on
	if err != nil {
		return err
	}
	times := []float64{0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4}
	if s.quick {
		times = []float64{0.5, 1, 4}
	}
	var peaks []float64
	flooded := map[string][]float64{}
	err = s.inTurns(func(round int) error {
		peak, err := offer(0)
		if err != nil {
			return err
		}
		peaks = append(peaks, perSecond(peak.Good, peak))
		for _, x := range times {
			o, err := offer(x * perSecond(first.Good, first))
			if err != nil {
				return err
			}
			s.addOffered(group, x*perSecond(first.Good, first), o)
			s.say("   round %d: %.2f times the peak: offered %s, created %s, refused %s", round, x,
				report.Format(perSecond(o.Sent, o), "/s"), report.Format(perSecond(o.Good, o), "/s"), report.Format(perSecond(o.Refused, o), "/s"))
			if x == slices.Max(times) {
				flooded["good"] = append(flooded["good"], perSecond(o.Good, o))
				flooded["p50"] = append(flooded["p50"], micros(o.RefusedP50)/1000)
				flooded["p99"] = append(flooded["p99"], micros(o.RefusedP99)/1000)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("creates offered at %g times what the store can take", slices.Max(times))
	s.add(
		report.Compare(group, what, "/s", flooded["good"], report.Column{Name: overloadPeak, Values: peaks}, report.AtLeast(0.85)),
		report.Measure(group, what+", a refusal, median", "ms", flooded["p50"], report.AtMost(10)),
		report.Measure(group, what+", a refusal, p99", "ms", flooded["p99"], report.Figure{}),
	)
	return nil
}

// perSecond returns how many of what was offered there were each second.
func perSecond(n int, o wrk.Offered) float64 { return float64(n) / o.Duration.Seconds() }

// addOffered keeps a sample of a load that did not wait for answers.
func (s *suite) addOffered(group string, offered float64, o wrk.Offered) {
	s.result.Samples = append(s.result.Samples, report.Sample{
		Group: group, Subject: overloadCreate, Round: 1, Rate: perSecond(o.Good, o), Offered: offered, Refused: perSecond(o.Refused, o),
		P50: micros(o.P50), P99: micros(o.P99), LoadGen: "offer",
	})
}

// serveSlowly starts a node on a PostgreSQL that is slow.
func (s *suite) serveSlowly(ctx context.Context, group string) (_ *started, stop func(), err error) {
	postgres, err := s.startPostgres(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.serveShared(ctx, &shared{postgres: postgres, dir: s.work}, group, 0)
	if err != nil {
		postgres.Stop()
		return nil, nil, err
	}
	stop = func() { p.Stop(); postgres.Stop() }
	conn, err := pgx.Connect(ctx, p.prepared.Database)
	if err == nil {
		_, err = conn.PgConn().Exec(ctx, slowly).ReadAll()
		err = errors.Join(err, conn.Close(ctx))
	}
	if err != nil {
		stop()
	}
	return p, stop, err
}

package main

import (
	"context"
	"fmt"
	"os"

	"petcat/bench/report"
	"petcat/bench/seed"
)

const (
	// backedUp is how many categories there are beside which creates are measured: a
	// scheduled backup of them takes longer than a round.
	backedUp = 300_000
	// besideBackup is the subject that has one under way all the time.
	besideBackup = "petcat create beside a backup"
)

// backups compares durable creates with the same beside scheduled backups, of which one
// is under way all the time. The servers take turns, each with fresh data: the backups of
// one that runs would be in the way of the other, and what one creates the next would
// have to back up.
func (s *suite) backups(ctx context.Context, group string) error {
	every := func(name, interval string) alternative {
		return alternative{name, func(round int) (measured, error) {
			return s.createBeside(ctx, group, name, interval, round)
		}}
	}
	both, err := s.alternate(every(petcatCreate, "0"), every(besideBackup, "1s"))
	if err != nil {
		return err
	}
	what := fmt.Sprintf("durable create, %d connections, beside a scheduled backup", connections)
	s.add(
		both.ratio(group, what, "/s", besideBackup, petcatCreate, rate, report.AtLeast(0.9)),
		both.ratio(group, what+", p99", "ms", besideBackup, petcatCreate, p99, report.Figure{}),
	)
	return nil
}

// createBeside measures the creates of a server that makes a backup so often.
func (s *suite) createBeside(ctx context.Context, group, name, every string, round int) (measured, error) {
	p, err := s.fresh(ctx, fmt.Sprintf("backed-up-every-%s-%d", every, round))
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(p.Dir) }()
	if err := seed.Categories(ctx, p.Data, backedUp); err != nil {
		return nil, err
	}
	p.BackupEvery = every
	return s.createOnce(ctx, group, name, p)
}

// createOnce measures the creates of a server that is started for it.
func (s *suite) createOnce(ctx context.Context, group, name string, p *prepared) (measured, error) {
	running, err := p.Serve(ctx)
	if err != nil {
		return nil, err
	}
	defer running.Stop()
	sub, err := (&started{Server: running, prepared: p}).post(name)
	if err != nil {
		return nil, err
	}
	return s.compare(ctx, group, connections, sub)
}

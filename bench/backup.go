package main

import (
	"context"
	"fmt"

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
// is under way all the time. The servers take turns on the same data: the backups of
// one that runs would be in the way of the other.
func (s *suite) backups(ctx context.Context, group string) error {
	p, err := s.fresh(ctx, "backed-up")
	if err != nil {
		return err
	}
	if err := seed.Categories(ctx, p.Data, backedUp); err != nil {
		return err
	}
	both := measured{}
	err = s.inTurns(func(int) error {
		for _, c := range []struct{ name, every string }{{petcatCreate, "0"}, {besideBackup, "1s"}} {
			p.BackupEvery = c.every
			m, err := s.createOnce(ctx, group, c.name, p)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			for name, samples := range m {
				both[name] = append(both[name], samples...)
			}
		}
		return nil
	})
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

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"petcat/bench/report"
	"petcat/bench/seed"
)

const (
	// backedUp is how many categories there are beside which creates are measured: a
	// scheduled backup of them takes longer than a round.
	backedUp = 300_000
	// besideBackup is the subject that has one under way all the time.
	besideBackup = "petcat create beside a backup"
	// The same two on PostgreSQL.
	postgresCreate       = "petcat create, PostgreSQL"
	postgresBesideBackup = "petcat create beside a backup, PostgreSQL"
)

// backedUpOn is a database on which backups are measured.
type backedUpOn struct {
	what          string // the row
	alone, beside string // its subjects
	// fill makes fresh data with backedUp categories, and returns what removes them.
	fill func(ctx context.Context, name string) (p *prepared, remove func(), err error)
}

// backups compares durable creates with the same beside scheduled backups, of which one
// is under way all the time.
func (s *suite) backups(ctx context.Context, group string) error {
	what := fmt.Sprintf("durable create, %d connections, beside a scheduled backup", connections)
	if err := s.backupsOn(ctx, group, backedUpOn{what, petcatCreate, besideBackup, s.fillSQLite}); err != nil {
		return err
	}
	on := backedUpOn{what + ", PostgreSQL", postgresCreate, postgresBesideBackup, s.fillPostgres}
	if absent := s.absent([]string{"postgres"}); absent != "" {
		s.add(report.Missing(group, on.what, on.alone, keptRate().Text(), absent))
		return nil
	}
	return s.backupsOn(ctx, group, on)
}

// keptRate is how much of their rate creates keep beside a backup.
func keptRate() report.Figure { return report.AtLeast(0.9) }

// backupsOn measures on one database. The servers take turns, each with fresh data: the
// backups of one that runs would be in the way of the other, and what one creates the next
// would have to back up.
func (s *suite) backupsOn(ctx context.Context, group string, on backedUpOn) error {
	every := func(name, interval string) alternative {
		return alternative{name, func(round int) (measured, error) {
			p, remove, err := on.fill(ctx, fmt.Sprintf("backed-up-every-%s-%d", interval, round))
			if err != nil {
				return nil, err
			}
			defer remove()
			p.BackupEvery = interval
			return s.createOnce(ctx, group, name, p)
		}}
	}
	both, err := s.alternate(every(on.alone, "0"), every(on.beside, "1s"))
	if err != nil {
		return err
	}
	s.add(
		both.ratio(group, on.what, "/s", on.beside, on.alone, rate, keptRate()),
		both.ratio(group, on.what+", p99", "ms", on.beside, on.alone, p99, report.Figure{}),
	)
	return nil
}

func (s *suite) fillSQLite(ctx context.Context, name string) (p *prepared, remove func(), err error) {
	if p, err = s.fresh(ctx, name); err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(p.Dir) }
	if err := seed.Categories(ctx, p.Data, backedUp); err != nil {
		remove()
		return nil, nil, err
	}
	return p, remove, nil
}

// fillPostgres starts a PostgreSQL of its own.
func (s *suite) fillPostgres(ctx context.Context, name string) (p *prepared, remove func(), err error) {
	h := &shared{dir: filepath.Join(s.work, name)}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, nil, err
	}
	if h.postgres, err = s.startPostgres(ctx); err != nil {
		return nil, nil, err
	}
	remove = func() {
		h.postgres.Stop()
		_ = os.RemoveAll(h.dir)
	}
	if p, err = s.prepareShared(ctx, h, "backed_up"); err == nil {
		err = seed.PostgresCategories(ctx, p.Database, backedUp)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return p, remove, nil
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

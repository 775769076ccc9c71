package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby makes a server that follows this one and takes no writes, and returns when it
// does. Synchronous says that commits wait for it. [Server.Remove] ends it.
func (s *Server) Standby(ctx context.Context, synchronous bool) (_ *Server, err error) {
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	follower := &Server{bin: s.bin, dir: dir, owner: s.owner}
	defer func() {
		if err != nil {
			err = errors.Join(err, follower.Remove())
		}
	}()
	if err := s.owner.give(dir); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_basebackup"), "--dbname="+s.admin, "--pgdata="+follower.data(),
		"--wal-method=stream", "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	cmd.Dir = dir
	s.owner.runs(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pgtest: pg_basebackup: %w: %s", err, out)
	}
	if err := follower.configure(ctx, Options{}); err != nil {
		return nil, err
	}
	if err := follower.Start(ctx); err != nil {
		return nil, err
	}
	if synchronous {
		if err := s.set(ctx, "synchronous_standby_names", "*"); err != nil {
			return nil, err
		}
	}
	return follower, s.awaitTrue(ctx, `SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming' AND (sync_state = 'sync') = $1`, synchronous)
}

// StopFollowing makes a standby receive nothing more.
func (s *Server) StopFollowing(ctx context.Context) error {
	if err := s.set(ctx, "primary_conninfo", ""); err != nil {
		return err
	}
	return s.awaitTrue(ctx, `SELECT count(*) = 0 FROM pg_stat_wal_receiver`)
}

// awaitTrue asks again and again until the answer is true.
func (s *Server) awaitTrue(ctx context.Context, query string, args ...any) error {
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		var yes bool
		if err := conn.QueryRow(limited, query, args...).Scan(&yes); err != nil || yes {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// set changes a setting while the server runs.
func (s *Server) set(ctx context.Context, name, value string) error {
	return errors.Join(s.execute(ctx, s.admin, "ALTER SYSTEM SET "+name+" = '"+value+"'"), s.execute(ctx, s.admin, "SELECT pg_reload_conf()"))
}

// Promote makes a standby take writes, and returns when it does. Commits do not wait for
// another standby.
func (s *Server) Promote(ctx context.Context) error {
	return errors.Join(s.set(ctx, "synchronous_standby_names", ""), s.execute(ctx, s.admin, "SELECT pg_promote()"))
}

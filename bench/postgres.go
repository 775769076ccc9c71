package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresServer is the PostgreSQL server of one group.
type postgresServer struct {
	*process
	conn     *pgx.Conn
	programs string // directory
	work     string
}

// startPostgres creates a PostgreSQL server with Debian's settings, except for the address. The
// durability settings are explicit, because the measurements depend on them.
func (b *bench) startPostgres(ctx context.Context) (*postgresServer, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.work, "postgres-")
	if err != nil {
		return nil, err
	}
	owner, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	address := freeAddress()
	data := filepath.Join(dir, "data")
	init := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata="+data, "--username=petcat",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions")
	init.Dir, init.SysProcAttr = dir, &syscall.SysProcAttr{Credential: owner}
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{"-D", data}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "port=" + portOf(address), "unix_socket_directories=",
		"fsync=on", "full_page_writes=on", "synchronous_commit=on",
	} {
		args = append(args, "-c", setting)
	}
	url := "postgres://petcat@" + address + "/postgres"
	var conn *pgx.Conn
	p, err := b.start(ctx, launch{
		dir: dir, path: filepath.Join(programs, "postgres"), args: args, url: url, user: owner,
		ready: func() bool { conn, err = pgx.Connect(ctx, url); return err == nil },
	})
	return &postgresServer{p, conn, programs, b.work}, err
}

// postgresPrograms returns the directory of the programs of the newest PostgreSQL. Debian
// keeps them out of PATH, by version.
func postgresPrograms() (string, error) {
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is right
	if len(installed) > 0 {
		return filepath.Dir(slices.Max(installed)), nil
	}
	path, err := exec.LookPath("postgres")
	return filepath.Dir(path), err
}

// unprivileged returns the credentials of a user that may run PostgreSQL, and makes the user
// the owner of a directory. It returns nil unless this process is root, which PostgreSQL rejects.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil // this user may run it
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	err = errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid)))
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// pgbench returns a subject that repeats a prepared statement on 64 connections.
func (p *postgresServer) pgbench(name, statement string) subject {
	return subject{name, "/s", func(ctx context.Context, d time.Duration) (float64, error) {
		script := filepath.Join(p.work, "pgbench.sql")
		if err := os.WriteFile(script, []byte(statement+"\n"), 0o600); err != nil {
			return 0, err
		}
		cmd := exec.CommandContext(ctx, filepath.Join(p.programs, "pgbench"),
			"--no-vacuum",
			"--protocol=prepared",
			"--client="+strconv.Itoa(connections),
			"--jobs=2",
			fmt.Sprintf("--time=%.0f", d.Seconds()),
			"--file="+script,
			p.url,
		)
		return output(cmd, number(`tps = ([\d.]+)`))
	}}
}

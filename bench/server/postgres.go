package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresServer is a PostgreSQL of its own.
type PostgresServer struct {
	*Process
	address string
	dir     string
}

// PostgresPrograms returns the directory of PostgreSQL's programs, of the newest
// version when there are several.
func PostgresPrograms() (string, error) {
	newest, version := "", -1
	// Debian keeps them out of PATH, by version.
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	for _, name := range found {
		dir := filepath.Dir(name)
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && n > version {
			newest, version = dir, n
		}
	}
	if newest != "" {
		return newest, nil
	}
	name, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("not installed; on Debian: apt-get install postgresql")
	}
	return filepath.Dir(name), nil
}

// postgresSettings are Debian's but for the address, and the durability said
// aloud: what is measured is what is kept.
const postgresSettings = `
listen_addresses = '127.0.0.1'
port = %s
unix_socket_directories = ''
fsync = on
full_page_writes = on
synchronous_commit = on
`

// Postgres makes and starts a PostgreSQL in a directory below dir. It does not run
// as root: then it runs as the user postgres or nobody, who must be able to come to
// dir.
func Postgres(ctx context.Context, programs, dir string) (_ *PostgresServer, err error) {
	own, err := os.MkdirTemp(dir, "petcat-bench-postgres-")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{dir: own}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	as, err := unprivileged(own)
	if err != nil {
		return nil, err
	}
	if s.address, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	data := filepath.Join(own, "data")
	init := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata="+data, "--username=petcat",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions")
	init.Dir = own
	if as != nil {
		init.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	_, port, _ := net.SplitHostPort(s.address)
	if err := appendTo(filepath.Join(data, "postgresql.conf"), fmt.Sprintf(postgresSettings, port)); err != nil {
		return nil, err
	}
	s.Process, err = startProcess(ctx, Launch{
		Name: "postgres", Dir: own, Path: filepath.Join(programs, "postgres"), Args: []string{"-D", data},
		// SIGTERM would wait for clients.
		Stop: syscall.SIGINT, User: as,
	})
	if err != nil {
		return nil, err
	}
	return s, s.awaitReady(ctx, 10*time.Millisecond, func() bool {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		return err == nil && conn.Close(ctx) == nil
	})
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// unprivileged gives a directory to somebody who is not root, if this process is,
// and returns who.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else is needed
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func (s *PostgresServer) url(database string) string {
	return "postgres://petcat@" + s.address + "/" + database
}

// Database makes a database, and returns its URL.
func (s *PostgresServer) Database(ctx context.Context, name string) (url string, err error) {
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{strings.ToLower(name)}.Sanitize()+" TEMPLATE template0")
	return s.url(name), errors.Join(err, conn.Close(ctx))
}

// Stop ends the server and removes its data.
func (s *PostgresServer) Stop() {
	if s.Process != nil {
		s.Process.Stop()
	}
	_ = os.RemoveAll(s.dir) // what is left is in the directory of temporary files
}

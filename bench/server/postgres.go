package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Postgres makes and starts a PostgreSQL in a directory below dir. It does not run
// as root: then it runs as the user postgres or nobody, who must be able to come to
// dir. Its settings are Debian's but for the address, and the durability said
// aloud: what is measured is what is kept.
func Postgres(ctx context.Context, programs, dir string) (_ *Server, err error) {
	own, err := os.MkdirTemp(dir, "petcat-bench-postgres-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(own)
		}
	}()
	as, err := unprivileged(own)
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(own, "data")
	init := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata="+data, "--username=petcat",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions")
	init.Dir, init.SysProcAttr = own, &syscall.SysProcAttr{Credential: as}
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
	url := "postgres://petcat@" + address
	return program{
		name: "postgres", dir: own, path: filepath.Join(programs, "postgres"), args: args,
		stop: syscall.SIGINT, // SIGTERM would wait for clients
		user: as, remove: own,
		ready: func() bool {
			conn, err := pgx.Connect(ctx, url+"/postgres")
			return err == nil && conn.Close(ctx) == nil
		},
	}.start(ctx, url)
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

// Database makes a database of a PostgreSQL, and returns its URL.
func (s *Server) Database(ctx context.Context, name string) (url string, err error) {
	conn, err := pgx.Connect(ctx, s.URL+"/postgres")
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE template0")
	return s.URL + "/" + name, errors.Join(err, conn.Close(ctx))
}

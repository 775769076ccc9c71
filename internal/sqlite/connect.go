package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	driversqlite "modernc.org/sqlite"

	"petcat/internal/openerror"
)

// Settings of each connection. SQLite forgets them with the connection, so they
// are part of the name that every connection is opened by. The journal mode is a
// property of the file: see prepare.

func writerPragmas() []string {
	return append(commonPragmas(timeout), fmt.Sprintf("journal_size_limit(%d)", logBytes))
}

func readerPragmas() []string { return append(commonPragmas(timeout), "query_only(ON)") }

// commonPragmas are those of every connection; it waits so long for locks.
func commonPragmas(wait time.Duration) []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "synchronous(FULL)", "foreign_keys(ON)", "temp_store(MEMORY)",
		"wal_autocheckpoint(0)", // see checkpoint.go
	}
}

const (
	// timeout is how long a lock is waited for that another process holds: longer
	// than any of its transactions lasts.
	timeout = 5 * time.Second
	// maxReaders is how many reads run at once. Lists are answered from memory:
	// only look-ups of keys, one at a time, and the operators' commands read here.
	maxReaders = 4
	// fullSync is the value of PRAGMA synchronous that syncs every commit.
	fullSync = 2
	// minVersion is the first SQLite without the bug that could corrupt a
	// database whose WAL is reset while another connection commits.
	minVersion = "3.51.3"
)

// dsn returns the name to open a file by. mode is rw or ro; a read-only
// connection also does not write when it is closed.
func dsn(path, mode string, pragmas []string) string {
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_pragma": pragmas}
	if mode == "ro" {
		query.Del("_txlock")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String()
}

// open returns a pool of at most n connections, none of which is closed for being
// idle: a new one costs a read of the schema.
func open(name string, n int) (*sql.DB, error) {
	connector, err := driversqlite.NewConnector(name)
	if err != nil {
		return nil, fmt.Errorf("sqlite: name of the database: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// connectAll opens so many of a pool's connections, which stay open.
func connectAll(ctx context.Context, db *sql.DB, count int) (err error) {
	conns := make([]*sql.Conn, 0, count)
	defer func() {
		for _, conn := range conns {
			err = errors.Join(err, conn.Close()) // back into the pool
		}
	}()
	for range count {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		conns = append(conns, conn)
		if err := conn.PingContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkDurability asks a connection whether it keeps what the store promises.
func checkDurability(ctx context.Context, conn *sql.Conn) error {
	var version, journal string
	var synchronous int
	if err := conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	if olderThan(version, minVersion) {
		return openerror.Errorf(openerror.Unsafe, nil, "this program contains SQLite %s, which may corrupt data; use a build with %s or later", version, minVersion)
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	if synchronous < fullSync {
		return openerror.Errorf(openerror.Unsafe, nil, "the database runs with synchronous=%d, which may lose data in a power cut; it must be FULL", synchronous)
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return err
	}
	if journal != "wal" {
		return openerror.Errorf(openerror.Unsafe, nil, "the database cannot be used with a write-ahead log (its journal is %q); put the data directory on a local disk", journal)
	}
	return nil
}

// olderThan compares two versions such as 3.51.3.
func olderThan(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b)) {
		x, _ := strconv.Atoi(a[i])
		y, _ := strconv.Atoi(b[i])
		if x != y {
			return x < y
		}
	}
	return len(a) < len(b)
}

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"petcat/internal/tooltest"
)

// Shared is one server for all tests of a package, started by the first that
// needs it. The zero value is ready. A package has one in a variable of its
// tests, and its TestMain calls Main, or Remove.
type Shared struct {
	Options Options

	once   sync.Once
	server *Server
	err    error
}

// Server returns the server, or skips the test when PostgreSQL is not installed.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	tooltest.NeedServer(t)
	s.once.Do(func() { s.server, s.err = Start(context.WithoutCancel(t.Context()), s.Options) })
	NeedNoError(t, s.err)
	return s.server
}

// Main runs a package's tests, ends the server, and sees that no goroutine is left.
func (s *Shared) Main(m *testing.M) { goleak.VerifyTestMain(tests{m, s}) }

// tests are those of a package. The server ends with them.
type tests struct {
	m      *testing.M
	server *Shared
}

func (t tests) Run() int {
	code := t.m.Run()
	t.server.Remove()
	return code
}

// Remove ends the server if it was started.
func (s *Shared) Remove() {
	if s.server != nil {
		_ = s.server.Remove()
	}
}

// New starts a server for one test alone.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	tooltest.NeedServer(t)
	s, err := Start(t.Context(), o)
	NeedNoError(t, err)
	t.Cleanup(func() { _ = s.Remove() })
	return s
}

// NeedNoError skips the test when PostgreSQL is missing and may be missing, and
// ends it for any other error.
func NeedNoError(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrNoBinaries):
		tooltest.Missing(t, err.Error())
	default:
		t.Fatal(err)
	}
}

// dropTimeout bounds the end of a database: a test that failed may have left the
// server suspended.
const dropTimeout = 10 * time.Second

// Database makes an empty database for a test and returns its URL. It is dropped
// when the test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	s.mu.Unlock()
	s.Execute(t, "postgres", "CREATE DATABASE "+name)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), dropTimeout)
		defer cancel()
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err != nil {
			return // the test ended the server
		}
		defer func() { _ = conn.Close(ctx) }()
		_, _ = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return s.url(name)
}

// Execute runs statements in a database, named or by its URL.
func (s *Server) Execute(t testing.TB, database, statements string) {
	t.Helper()
	if database == "postgres" {
		database = s.url(database)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

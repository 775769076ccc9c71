package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// Shared is the server for all tests of a package that neither stop nor suspend it: the server
// of [DatabaseVariable], or one that the package's first test starts. Keep it in a package
// variable, and call Main or Remove in TestMain.
type Shared struct {
	// Migrate, if not nil, creates the tables of each database.
	Migrate func(ctx context.Context, url string) error

	once     sync.Once
	server   *Server
	template string
	err      error
}

// DatabaseVariable is the environment variable with the URL of the shared server's
// administrative database.
const DatabaseVariable = "PETCAT_TEST_DATABASE"

// Server returns the server, and starts it if necessary.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	needServers(t)
	s.once.Do(func() { s.err = s.start(context.WithoutCancel(t.Context())) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Database creates a database with the package's tables for a test, and returns its URL.
func (s *Shared) Database(t testing.TB) string {
	t.Helper()
	return s.Server(t).database(t, s.template)
}

func (s *Shared) start(ctx context.Context) (err error) {
	if url := os.Getenv(DatabaseVariable); url != "" {
		s.server, err = attach(url)
	} else {
		s.server, err = start(ctx, "127.0.0.1")
	}
	if err != nil || s.Migrate == nil {
		return err
	}
	// Copying this database is faster than migrating each one.
	name := newName()
	if err := s.server.execute(ctx, s.server.admin, "CREATE DATABASE "+name); err != nil {
		return err
	}
	s.template = name
	return s.Migrate(ctx, s.server.url(name))
}

// attach returns a server that another process started.
func attach(url string) (*Server, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	return &Server{admin: url, port: strconv.Itoa(int(config.Port))}, nil
}

// Main runs a package's tests, removes the server, and fails if goroutines are left.
func (s *Shared) Main(m *testing.M) { goleak.VerifyTestMain(tests{m, s}) }

type tests struct {
	m      *testing.M
	shared *Shared
}

func (t tests) Run() int {
	code := t.m.Run()
	t.shared.Remove()
	return code
}

// Remove removes the server if it was started for this package, otherwise the package's template.
func (s *Shared) Remove() {
	if s.server != nil && s.server.dir != "" {
		_ = s.server.Remove()
	} else if s.template != "" {
		_ = s.server.execute(context.Background(), s.server.admin, "DROP DATABASE IF EXISTS "+s.template+" WITH (FORCE)")
	}
}

// New starts a private server, without TCP, for a test that stops or suspends it.
func New(t testing.TB) *Server {
	t.Helper()
	needServers(t)
	s, err := start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Remove() })
	return s
}

func needServers(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL, which -short leaves out")
	}
}

// dropTimeout limits DROP DATABASE: a failed test may have left the server suspended.
const dropTimeout = 10 * time.Second

// Database creates an empty database for a test and returns its URL. It is dropped at the end of
// the test.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.database(t, "template1")
}

func (s *Server) database(t testing.TB, template string) string {
	t.Helper()
	if template == "" {
		template = "template1"
	}
	name := newName()
	s.Execute(t, s.admin, "CREATE DATABASE "+name+" TEMPLATE "+template)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), dropTimeout)
		defer cancel()
		// The test may have stopped the server.
		_ = s.execute(ctx, s.admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return s.url(name)
}

// newName returns a random database name.
func newName() string { return "test_" + strings.ToLower(rand.Text()[:16]) }

// Execute runs statements in a database: "postgres" or a URL.
func (s *Server) Execute(t testing.TB, database, statements string) {
	t.Helper()
	if database == "postgres" {
		database = s.admin
	}
	if err := s.execute(t.Context(), database, statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func (s *Server) execute(ctx context.Context, url, statements string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.PgConn().Exec(ctx, statements).ReadAll()
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// Connect connects to a database until the end of the test.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// Execute runs a statement on a connection. It also works in a test's Cleanup.
func Execute(t testing.TB, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// user is the superuser's name within the server.
const user = "petcat"

// startTimeout is how long a server may take until it answers; after a kill it
// replays its log first.
const startTimeout = 60 * time.Second

// Server is a running PostgreSQL. Use [New] or [Shared].
type Server struct {
	admin   string // the URL of the database "postgres"
	address string // on the loopback network

	// Of a server that was started here, "" and nil else: then it can be neither stopped
	// nor suspended.
	bin, dir string
	owner    *owner

	mu      sync.Mutex
	process *process // guarded by mu; nil while it is stopped
}

// programs returns the folder of PostgreSQL's programs: the one that PETCAT_TEST_POSTGRES
// names, or else of the newest version that is installed.
func programs() (string, error) {
	dir := os.Getenv("PETCAT_TEST_POSTGRES")
	newest := -1
	// Debian keeps them out of PATH, by version; others have them in PATH.
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well-formed
	for _, name := range found {
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && n > newest && (dir == "" || newest >= 0) {
			dir, newest = name, n
		}
	}
	if name, err := exec.LookPath("initdb"); err == nil && dir == "" {
		dir = filepath.Dir(name)
	}
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); dir == "" || err != nil {
		return "", errors.New("tests need PostgreSQL: on Debian, as root, apt-get install postgresql; elsewhere, PETCAT_TEST_POSTGRES names the folder of its programs")
	}
	return dir, nil
}

// start makes a fresh server and returns when it answers. [Server.Remove] ends it.
func start(ctx context.Context) (_ *Server, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// Not in TMPDIR, because the path of a Unix socket may have 107 bytes.
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv(folderVariable), "/tmp"), "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if s.owner, err = newOwner(); err != nil {
		return nil, err
	}
	if err := s.owner.give(dir); err != nil {
		return nil, err
	}
	if err := s.init(ctx); err != nil {
		return nil, err
	}
	return s, s.Start(ctx)
}

// folderVariable is the environment variable that says where servers keep their files: in
// memory if there is room, see scripts/with-postgres.
const folderVariable = "PETCAT_TEST_POSTGRES_DATA"

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// init makes the data directory, and its settings with a port that nobody listens on at
// the moment.
func (s *Server) init(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"),
		"--pgdata="+s.data(), "--username="+user, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = s.dir
	s.owner.runs(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w: %s", err, out)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.address = l.Addr().String()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		return err
	}
	s.admin = "postgres:///postgres?" + url.Values{"host": {s.dir}, "port": {port}, "user": {user}}.Encode()
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// A killed server may leave its segments of shared memory behind when they are System
	// V's or files; those of mmap go with the process.
	_, err = fmt.Fprintf(f, `
		listen_addresses = '127.0.0.1'
		port = %s
		unix_socket_directories = '%s'
		max_connections = 200
		dynamic_shared_memory_type = mmap
		log_min_messages = fatal
		log_min_error_statement = panic
	`, port, s.dir)
	return errors.Join(err, f.Close())
}

// Start starts the server again after Stop or Kill, and returns when it
// answers.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return errors.New("pgtest: the server runs already")
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// Not bound to ctx: the server outlives the call.
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data())
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = log, log
	s.owner.runs(cmd)
	if s.process, err = startProcess(cmd); err != nil {
		return err
	}
	if err := s.awaitAnswer(ctx); err != nil {
		s.process.signal(syscall.SIGKILL)
		<-s.process.ended
		s.process = nil
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("pgtest: the server does not start: %w: %s", err, text)
	}
	return nil
}

func (s *Server) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.admin)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return err
		case <-s.process.ended:
			return errors.New("it ended by itself")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// url returns the address of another database.
func (s *Server) url(database string) string {
	u, err := url.Parse(s.admin)
	if err != nil {
		panic(err) // it was parsed before
	}
	u.Path = "/" + database
	return u.String()
}

// Address returns the host and port of the server on the loopback network.
func (s *Server) Address() string { return s.address }

// ByTCP returns a database's URL for another address, such as that of a proxy.
func ByTCP(database, address string) string {
	config, err := pgx.ParseConfig(database)
	if err != nil {
		panic(err) // it came from this package
	}
	u := url.URL{Scheme: "postgres", User: url.User(config.User), Host: address, Path: "/" + config.Database, RawQuery: "sslmode=disable"}
	if config.Password != "" {
		u.User = url.UserPassword(config.User, config.Password)
	}
	return u.String()
}

// signal reaches the whole server: its main process and everything that serves a
// connection.
func (s *Server) signal(sig syscall.Signal) {
	s.mustBeOurs()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.signal(sig)
	}
}

// Suspend lets the server hang, as on a dead disk: connections are taken and
// nothing is answered. Resume ends it.
func (s *Server) Suspend() { s.signal(sigStop) }

// Resume lets a suspended server go on.
func (s *Server) Resume() { s.signal(sigContinue) }

// Kill ends the server at once, as a power cut does but for what the kernel
// holds.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the server in order; connections are broken.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

func (s *Server) mustBeOurs() {
	if s.dir == "" {
		panic("pgtest: all packages share this server; a test that hurts one calls New")
	}
}

func (s *Server) end(sig syscall.Signal) {
	s.mustBeOurs()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	var killed []int
	if sig == syscall.SIGKILL {
		killed = s.process.signal(sig)
	} else {
		s.process.signalMain(sig)
	}
	<-s.process.ended
	awaitEnd(killed)
	s.process = nil
}

// Remove ends the server and deletes everything.
func (s *Server) Remove() error {
	s.Resume()
	s.Kill()
	return os.RemoveAll(s.dir)
}

// owner is the user of the machine whom the server runs as.
type owner struct {
	change   bool // nobody in particular: whoever runs the test
	uid, gid uint32
}

// newOwner chooses a user: the one of the test, unless that is root.
func newOwner() (*owner, error) {
	if os.Getuid() != 0 {
		return &owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &owner{change: true, uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("pgtest: PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func (o *owner) give(dir string) error {
	if !o.change {
		return nil
	}
	return os.Chown(dir, int(o.uid), int(o.gid))
}

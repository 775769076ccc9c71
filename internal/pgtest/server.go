package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// user is the name of the database superuser.
const user = "petcat"

// startTimeout limits the time until a server accepts connections. After a kill it first
// replays its log.
const startTimeout = 60 * time.Second

// Server is a running PostgreSQL. Use [New] or [Shared].
type Server struct {
	admin string // the URL of the database "postgres"
	port  string

	// Zero for a server that another process started, which cannot be stopped or suspended.
	bin, dir string
	owner    *owner

	mu      sync.Mutex
	process *process // guarded by mu; nil while the server is stopped
}

// programs returns the folder with PostgreSQL's programs: PETCAT_TEST_POSTGRES, or the folder of
// the newest installed version.
func programs() (string, error) {
	dir := os.Getenv("PETCAT_TEST_POSTGRES")
	newest := -1
	// On Debian they are not in PATH but in a folder for each version.
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
		return "", errors.New("tests need PostgreSQL: on Debian, as root, apt-get install postgresql; elsewhere, set PETCAT_TEST_POSTGRES to the folder with its programs")
	}
	return dir, nil
}

// start creates a server and returns when it accepts connections: at listen, which may be empty,
// and on a Unix socket. [Server.Remove] removes it.
func start(ctx context.Context, listen string) (_ *Server, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// Not in TMPDIR: the path of a Unix socket is limited to 107 bytes.
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
	if err := s.init(ctx, listen); err != nil {
		return nil, err
	}
	for range 5 { // another program may use the port
		s.port = strconv.Itoa(20_000 + rand.IntN(12_000)) // not one that the kernel chooses for others
		s.admin = "postgres:///postgres?" + url.Values{"host": {s.dir}, "port": {s.port}, "user": {user}}.Encode()
		if err = s.Start(ctx); err == nil {
			break
		}
	}
	return s, err
}

// folderVariable is the environment variable with the parent directory of the servers' files.
// scripts/with-postgres sets it to a file system in memory if there is enough space.
const folderVariable = "PETCAT_TEST_POSTGRES_DATA"

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// init creates the data directory and its configuration.
func (s *Server) init(ctx context.Context, listen string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"),
		"--pgdata="+s.data(), "--username="+user, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = s.dir
	s.owner.runs(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w: %s", err, out)
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// A killed server can leak other kinds of shared memory. mmap's is freed with the process.
	_, err = fmt.Fprintf(f, `
		listen_addresses = '%s'
		unix_socket_directories = '%s'
		max_connections = 200
		dynamic_shared_memory_type = mmap
		log_min_messages = fatal
		log_min_error_statement = panic
	`, listen, s.dir)
	return errors.Join(err, f.Close())
}

// Start restarts the server after Stop or Kill, and returns when it accepts connections.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return errors.New("pgtest: the server is already running")
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// Not bound to ctx: the server outlives the call.
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", s.port)
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = log, log
	s.owner.runs(cmd)
	if s.process, err = startProcess(cmd); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		s.process.signal(syscall.SIGKILL)
		<-s.process.exited
		s.process = nil
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("pgtest: the server did not start: %w: %s", err, text)
	}
	return nil
}

func (s *Server) awaitReady(ctx context.Context) error {
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
		case <-s.process.exited:
			return errors.New("it exited")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// url returns the URL of a database.
func (s *Server) url(database string) string {
	u, err := url.Parse(s.admin)
	if err != nil {
		panic(err) // this package made it
	}
	u.Path = "/" + database
	return u.String()
}

// Address returns the loopback address of a [Shared] server, as host:port.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", s.port) }

// ByTCP returns the URL of a database at another address, such as a proxy's.
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

// signal signals all processes of the server.
func (s *Server) signal(sig syscall.Signal) {
	s.mustBeOurs()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.signal(sig)
	}
}

// Suspend makes the server hang, as on a dead disk: it accepts connections but never responds.
// Resume undoes it.
func (s *Server) Suspend() { s.signal(sigStop) }

// Resume continues a suspended server.
func (s *Server) Resume() { s.signal(sigContinue) }

// Kill kills the server. Unlike a power cut, it keeps data in the kernel's buffers.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop shuts the server down and closes its connections.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

func (s *Server) mustBeOurs() {
	if s.dir == "" {
		panic("pgtest: this server is shared; use New to stop or suspend a server")
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
	<-s.process.exited
	awaitExit(killed)
	s.process = nil
}

// Remove kills the server and deletes its files.
func (s *Server) Remove() error {
	s.Resume()
	s.Kill()
	return os.RemoveAll(s.dir)
}

// owner is the operating system user that the server runs as.
type owner struct {
	change   bool // false: the user of the test
	uid, gid uint32
}

// newOwner returns the user of the test or, if that is root, the user postgres or nobody.
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
	return nil, fmt.Errorf("pgtest: PostgreSQL does not run as root, and neither the user postgres nor the user nobody exists")
}

func (o *owner) give(dir string) error {
	if !o.change {
		return nil
	}
	return os.Chown(dir, int(o.uid), int(o.gid))
}

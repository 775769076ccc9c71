package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
)

// badCertificate is what may be wrong with a server's certificate, or its handshake.
type badCertificate struct {
	name    string
	address net.IP
	until   time.Duration // from now
	stalls  bool          // the handshake is never answered
	says    string        // what the client says; "": nothing is wrong
}

var badCertificates = []badCertificate{
	{name: "a good one", address: net.IPv4(127, 0, 0, 1), until: time.Hour},
	{name: "expired", address: net.IPv4(127, 0, 0, 1), until: -time.Hour, says: "certificate has expired"},
	{name: "another address", address: net.IPv4(127, 0, 0, 2), until: time.Hour, says: "valid for 127.0.0.2, not 127.0.0.1"},
	{name: "a handshake that stalls", address: net.IPv4(127, 0, 0, 1), until: time.Hour, stalls: true, says: "it does not respond in time"},
}

// shown is a certificate as a front shows it.
type shown struct {
	badCertificate

	pair     tls.Certificate
	certFile string
}

func (c badCertificate) issue(t *testing.T) shown {
	t.Helper()
	certFile, keyFile := writeCertificateFor(t, t.TempDir(), c.name, c.address, time.Now().Add(c.until))
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	must(t, err)
	return shown{c, pair, certFile}
}

// tlsFront speaks TLS on an address and passes on what it hears to another one. With
// PostgreSQL, a client first asks in the clear whether that is possible.
type tlsFront struct {
	address, to string
	asks        bool

	mu    sync.Mutex
	shows shown             // guarded by mu
	conns map[net.Conn]bool // guarded by mu
}

func newTLSFront(t *testing.T, to string, asks bool, shows shown) *tlsFront {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	f := &tlsFront{address: l.Addr().String(), to: to, asks: asks, shows: shows, conns: make(map[net.Conn]bool)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return f
}

// show ends all connections, and has those that follow see another certificate.
func (f *tlsFront) show(c shown) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shows = c
	for conn := range f.conns {
		_ = conn.Close()
	}
}

func (f *tlsFront) serve(conn net.Conn) {
	f.mu.Lock()
	c := f.shows
	f.conns[conn] = true
	f.mu.Unlock()
	defer func() {
		_ = conn.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.conns, conn)
	}()
	if f.asks {
		if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
			return
		}
		if _, err := conn.Write([]byte("S")); err != nil {
			return
		}
	}
	if c.stalls {
		_, _ = io.Copy(io.Discard, conn) // until the client gives up
		return
	}
	secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{c.pair}})
	behind, err := net.Dial("tcp", f.to)
	if err != nil {
		return
	}
	defer func() { _ = behind.Close() }()
	go func() {
		_, _ = io.Copy(behind, secure)
		_ = behind.Close()
	}()
	_, _ = io.Copy(secure, behind)
}

// verified is the URL of a database behind a front, of which a client verifies the
// certificate.
func (f *tlsFront) verified(t *testing.T, database, certFile string) string {
	t.Helper()
	u, err := url.Parse(pgtest.ByTCP(database, f.address))
	must(t, err)
	u.RawQuery = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {certFile}}.Encode()
	return u.String()
}

// TestTLSToPostgres: a PostgreSQL whose certificate is not good is not spoken to, and one
// sentence says why, soon.
func TestTLSToPostgres(t *testing.T) {
	t.Parallel()
	server := sharedPostgres.Server(t)
	for _, c := range badCertificates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shows := c.issue(t)
			database := newTLSFront(t, server.Address(), true, shows).verified(t, server.Database(t), shows.certFile)
			var code int
			var stderr string
			stalltest.Start(t).InTime("the command", 5*time.Second, func() time.Duration {
				began := time.Now()
				code, _, stderr = petcatRuns(t, "init", "--database", database)
				return time.Since(began)
			})
			if c.says == "" {
				if code != exitDone {
					t.Errorf("exit code %d: %s", code, stderr)
				}
				return
			}
			if code != exitTryLater {
				t.Errorf("exit code %d", code)
			}
			wantOneSentence(t, strings.Split(strings.TrimSpace(stderr), "\n"), "the database server at 127.0.0.1", c.says)
		})
	}
}

// TestTLSToPostgresAgain: PostgreSQL's certificate is not good any more when a node that runs
// connects again. It is not spoken to, which the log explains; lists go on, creates get 503,
// and when the certificate is good again, so is all.
func TestTLSToPostgresAgain(t *testing.T) {
	t.Parallel()
	server := sharedPostgres.Server(t)
	database := server.Database(t)
	var certificates []shown
	var trusted []byte
	for _, c := range badCertificates {
		shows := c.issue(t)
		text, err := os.ReadFile(shows.certFile)
		must(t, err)
		certificates, trusted = append(certificates, shows), append(trusted, text...)
	}
	roots := filepath.Join(t.TempDir(), "roots.pem")
	must(t, os.WriteFile(roots, trusted, 0o600))
	good := certificates[0]
	front := newTLSFront(t, server.Address(), true, good)
	s := serve(t, front.verified(t, database, roots))
	key := newCaller(t, database)
	s.mustCreate(key, "dog")
	for _, bad := range certificates[1:] {
		if bad.stalls {
			bad.says = "deadline exceeded"
		}
		front.show(bad)
		eventually(t, 10*time.Second, bad.name+": it is told", func() bool {
			return s.metric("petcat_store_up") == 0 && strings.Contains(s.log.String(), bad.says)
		})
		if a := s.list(key); a.StatusCode != http.StatusOK {
			t.Errorf("%s: a list is answered with %d: %s", bad.name, a.StatusCode, a.body)
		}
		wantError(t, s.create(key, bad.name), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		front.show(good)
		s.awaitWell(10 * time.Second)
		s.mustCreate(key, "after "+bad.name)
	}
	s.mustStop()
}

// TestTLSToRedis: a Redis whose certificate is not good is not spoken to. The node serves
// without it, soon, and says why.
func TestTLSToRedis(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, bad := range badCertificates {
		shows := bad.issue(t)
		front := newTLSFront(t, strings.TrimPrefix(c.redis.URL(), "redis://"), false, shows)
		s := newServer(t, c.database)
		cmd := processOf(serveFlags("serve", c.database, []string{"--limiter", "rediss://" + front.address})...)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+shows.certFile)
		c.control().Lap()
		s.launch(cmd)
		s.awaitReady()
		c.control().Judge(bad.name+": the start", s.startup, 5*time.Second)
		if bad.says == "" {
			s.awaitWell(10 * time.Second)
		} else {
			if s.metric("petcat_limiter_degraded") != 1 {
				t.Errorf("%s: /readyz says %v", bad.name, s.readiness())
			}
			says := bad.says
			if bad.stalls {
				says = "deadline exceeded"
			}
			if log := s.log.String(); !strings.Contains(log, "the shared counters do not answer") || !strings.Contains(log, says) {
				t.Errorf("%s: the log does not say %q:\n%s", bad.name, says, last(log, 2000))
			}
		}
		s.mustStop()
	}
}

// TestTLSOfTheAPI: who connects sees a certificate that is not good, and the operator
// hears of it; a handshake that stalls is cut off within 10 s.
func TestTLSOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, c := range badCertificates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			until := time.Now().Add(c.until).Truncate(time.Second)
			certFile, keyFile := writeCertificateFor(t, t.TempDir(), c.name, c.address, until)
			s := serve(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", certFile, "--tls-key", keyFile)
			if got := s.metric("petcat_tls_certificate_expiry_timestamp_seconds"); got != float64(until.Unix()) {
				t.Errorf("the metric says %.0f, want %d", got, until.Unix())
			}
			const warning = "clients refuse the certificate"
			if warned := strings.Contains(s.log.String(), warning); warned != (c.until < 0) {
				t.Errorf("the log says %q: %v", warning, warned)
			}
			address := strings.TrimPrefix(s.api, "http://")
			if c.stalls {
				wantCutOff(t, address, 10*time.Second)
				return
			}
			c.wantSeen(t, address, certFile)
		})
	}
}

// wantSeen expects that who connects sees what is wrong with a certificate.
func (c badCertificate) wantSeen(t *testing.T, address, certFile string) {
	t.Helper()
	text, err := os.ReadFile(certFile)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
	if err == nil {
		_ = conn.Close()
	}
	if said := fmt.Sprint(err); c.says == "" && err != nil || !strings.Contains(said, c.says) {
		t.Errorf("a client says %q, want %q", said, c.says)
	}
}

// wantCutOff expects that a connection on which half a handshake is sent is closed in
// time.
func wantCutOff(t *testing.T, address string, limit time.Duration) {
	t.Helper()
	stalltest.Start(t).InTime("half a handshake is cut off", limit+deadlineTick, func() time.Duration {
		conn, err := net.Dial("tcp", address)
		must(t, err)
		defer func() { _ = conn.Close() }()
		_, err = conn.Write([]byte{22, 3, 1, 2, 0, 1}) // the beginning of a ClientHello of 512 bytes
		must(t, err)
		began := time.Now()
		must(t, conn.SetReadDeadline(began.Add(3*limit)))
		if _, err = io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("half a handshake is not cut off within %s", 3*limit)
		}
		return time.Since(began)
	})
}

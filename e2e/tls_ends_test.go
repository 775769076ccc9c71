package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// tlsFront speaks TLS on an address and passes on what it hears to another one. With
// PostgreSQL, a client first asks in the clear whether that is possible.
func (c badCertificate) tlsFront(t *testing.T, to string, asks bool) (address, certFile string) {
	t.Helper()
	certFile, keyFile := writeCertificateFor(t, t.TempDir(), c.name, c.address, time.Now().Add(c.until))
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	serve := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		if asks {
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
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}})
		behind, err := net.Dial("tcp", to)
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
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return l.Addr().String(), certFile
}

// TestTLSToPostgres: a PostgreSQL whose certificate is not good is not spoken to, and one
// sentence says why, soon.
func TestTLSToPostgres(t *testing.T) {
	t.Parallel()
	server := sharedPostgres.Server(t)
	for _, c := range badCertificates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			front, certFile := c.tlsFront(t, server.Address(), true)
			u, err := url.Parse(pgtest.ByTCP(server.Database(t), front))
			must(t, err)
			u.RawQuery = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {certFile}}.Encode()
			var code int
			var stderr string
			stalltest.Start(t).InTime("the command", 5*time.Second, func() time.Duration {
				began := time.Now()
				code, _, stderr = petcatRuns(t, "init", "--database", u.String())
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

// TestTLSToRedis: a Redis whose certificate is not good is not spoken to. The node serves
// without it, soon, and says why.
func TestTLSToRedis(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, bad := range badCertificates {
		front, certFile := bad.tlsFront(t, strings.TrimPrefix(c.redis.URL(), "redis://"), false)
		s := newServer(t, c.database)
		cmd := processOf(serveFlags("serve", c.database, []string{"--limiter", "rediss://" + front})...)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+certFile)
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

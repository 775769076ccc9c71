package rediscounters_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/rediscounters"
	"petcat/internal/redistest"
)

// rights are all that a node needs; in a cluster also +cluster, under Sentinel +role.
const rights = "ACL SETUSER petcat on >PASSWORD ~petcat:* resetchannels -@all +hello +client +info +ping +eval +evalsha +time +get +set +expire +hset +hgetall +hdel"

const user = "petcat:PASSWORD@"

func allow(rights string, servers ...*redistest.Server) {
	for _, s := range servers {
		s.MustDo(strings.Fields(rights)...)
	}
}

// everything makes each kind of call.
func (n *node) everything() {
	n.Helper()
	n.fill(5)
	for _, name := range []string{"a", "b"} {
		if _, err := n.ShareRetries(n.context(), n.partition, name, []counters.KeyRetries{{Key: 1, Retries: 1}}); err != nil {
			n.Error(err)
		}
	}
	n.learn()
}

func wantNothingDenied(t *testing.T, servers ...*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		if denied := s.MustDo("ACL", "LOG"); denied != "" {
			t.Errorf("a server denied something: %s", denied)
		}
	}
}

// TestRights: the rights are enough, and none is more than needed.
func TestRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	allow(rights, server)
	url := strings.Replace(server.URL(), "://", "://"+user, 1)
	join(t, url).everything()
	wantNothingDenied(t, server)
	used := server.MustDo("INFO", "commandstats")
	for right := range strings.FieldsSeq(rights) {
		// From version 7.2 on, in silence, and for words that no longer hold.
		if slices.Contains([]string{"+client", "+ping", "+hdel"}, right) {
			continue
		}
		if name, found := strings.CutPrefix(right, "+"); found && !strings.Contains(used, "cmdstat_"+name) {
			t.Errorf("nothing uses %s", right)
		}
	}
	server.MustDo("ACL", "SETUSER", "petcat", "-info")
	if _, err := rediscounters.New(t.Context(), rediscounters.Options{URL: petcat.NewSecret(url)}); err == nil || !strings.Contains(err.Error(), "too few rights") {
		t.Errorf("New without a right: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	const planted = "hunter2hunter2"
	server := redistest.Start(t)
	locked := redistest.Start(t, "--requirepass", planted)
	evicting := redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	part := redistest.Start(t, "--cluster-enabled", "yes")
	for _, tc := range []struct{ name, url, want string }{
		{"a server that evicts", evicting.URL(), "noeviction"},
		{"no password", locked.URL(), "password"},
		{"another password", strings.Replace(locked.URL(), "redis://", "redis://:x"+planted+"@", 1), "WRONGPASS"},
		{"a database that is not there", server.URL() + "/99", "DB index"},
		{"part of a cluster", part.URL(), "redis-cluster://"},
		{"no cluster", "redis-cluster://" + server.Address() + "," + server.Address(), "redis://"},
		{"no URL", planted, "redis://"},
	} {
		c, err := rediscounters.New(t.Context(), rediscounters.Options{URL: petcat.NewSecret(tc.url)})
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), planted) {
			t.Errorf("%s: %v, want an error with %s and without the password", tc.name, err, tc.want)
		}
	}
	open(t, evicting.URL(), func(o *rediscounters.Options) { o.AllowEviction = true })

	n := join(t, strings.Replace(locked.URL(), "redis://", "redis://:"+planted+"@", 1))
	n.everything()
	// A password that changes is an outage; the error does not tell it.
	change := func(from, to string) {
		t.Helper()
		for _, command := range []string{"CONFIG SET requirepass " + to, "CLIENT KILL TYPE normal SKIPME yes"} {
			if _, err := locked.DoAs(from, strings.Fields(command)...); err != nil {
				t.Fatal(err)
			}
			from = to
		}
	}
	change(planted, "another")
	eventually(t, "the password is refused", func() bool {
		_, _, err := n.Probe(n.context(), 0)
		if err != nil && strings.Contains(err.Error(), planted) {
			t.Errorf("the error tells the password: %v", err)
		}
		return err != nil && strings.Contains(err.Error(), "password")
	})
	change("another", planted)
	n.learn()
	n.wantEpoch()
}

// TestTLS: a server is spoken to in TLS, and only if it is who it should be.
func TestTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // it brings a certificate
	defer web.Close()
	key, err := x509.MarshalPKCS8PrivateKey(web.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert := write("cert.pem", "CERTIFICATE", web.Certificate().Raw)
	port := redistest.FreePort(t)
	redistest.Start(t, "--requirepass", "s3cret", "--tls-port", strconv.Itoa(port), "--tls-auth-clients", "no",
		"--tls-cert-file", cert, "--tls-key-file", write("key.pem", "PRIVATE KEY", key), "--tls-ca-cert-file", cert)
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	for _, tc := range []struct {
		host  string
		roots *x509.CertPool
		want  string
	}{
		{"127.0.0.1", trusted, ""},
		{"127.0.0.1", x509.NewCertPool(), "unknown authority"},
		{"localhost", trusted, "not localhost"},
	} {
		c := open(t, fmt.Sprintf("rediss://:s3cret@%s:%d", tc.host, port), func(o *rediscounters.Options) {
			o.TLS = &tls.Config{RootCAs: tc.roots, MinVersion: tls.VersionTLS12}
		})
		n := &node{TB: t, Counters: c}
		_, _, err := c.Probe(n.context(), 0)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.host, err, tc.want)
		}
	}
}

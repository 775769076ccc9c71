package redislimit_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

// startTLS starts a server with a password and a certificate for 127.0.0.1, and
// returns its port and who vouches for it.
func startTLS(t *testing.T) (port int, roots *x509.CertPool) {
	t.Helper()
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
	certFile := write("cert.pem", "CERTIFICATE", web.Certificate().Raw)
	port = redistest.FreePort(t)
	redistest.Start(t, "--requirepass", "s3cret", "--tls-port", strconv.Itoa(port), "--tls-auth-clients", "no",
		"--tls-cert-file", certFile, "--tls-key-file", write("key.pem", "PRIVATE KEY", key), "--tls-ca-cert-file", certFile)
	roots = x509.NewCertPool()
	roots.AddCert(web.Certificate())
	return port, roots
}

// TestTLS: a server is spoken to in TLS, and only if it is who it should be;
// otherwise the node counts alone and says why.
func TestTLS(t *testing.T) {
	t.Parallel()
	port, roots := startTLS(t)
	for _, tc := range []struct {
		name, host string
		roots      *x509.CertPool
		mode, says string
	}{
		{"right", "127.0.0.1", roots, "together", ""},
		{"signed by nobody who is trusted", "127.0.0.1", x509.NewCertPool(), "alone", "unknown authority"},
		{"another's name", "localhost", roots, "alone", "not localhost"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			l, err := redislimit.New(t.Context(), redislimit.Options{
				URL:    petcat.NewSecret(fmt.Sprintf("rediss://:s3cret@%s:%d", tc.host, port)),
				TLS:    &tls.Config{RootCAs: tc.roots, MinVersion: tls.VersionTLS12},
				Clock:  clock.NewSystem(),
				Days:   limittest.NewDays().Process(),
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			mode := l.Mode()
			d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: free})
			if err != nil || d.Verdict != ratelimit.Admitted {
				t.Errorf("Spend: %+v, %v", d, err)
			}
			if err := l.Close(t.Context()); err != nil { // nothing writes to the log any more
				t.Fatal(err)
			}
			if mode != tc.mode || !strings.Contains(log.String(), tc.says) || strings.Contains(log.String(), "s3cret") {
				t.Errorf("the node counts %s, want %s; its log, which should say %q:\n%s", mode, tc.mode, tc.says, &log)
			}
		})
	}
}

package server

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/clocktest"
)

// TestExpiredCertificate: if the new certificate is one that clients reject, the log says so.
func TestExpiredCertificate(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0] // valid until 2084
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	key := must(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	write := func(file string, text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(certFile, cert)
	write(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	var log bytes.Buffer
	c := clocktest.NewManual(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))
	served := must(loadCertificate(certFile, keyFile, c, slog.New(slog.NewTextHandler(&log, nil))))
	if log.Len() > 0 {
		t.Errorf("a valid certificate: %s", &log)
	}
	c.Advance(100 * 365 * 24 * time.Hour)
	write(certFile, append(cert, '\n'))
	served.reload(t.Context())
	for _, want := range []string{"certificate reloaded", `level=WARN msg="certificate is expired or not yet valid`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in %s", want, &log)
		}
	}
}

package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petcat"
)

// writeCertificate writes a self-signed pair for 127.0.0.1 and publicName, with a name
// that tells it from others.
func writeCertificate(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	return writeCertificateFor(t, dir, name, net.IPv4(127, 0, 0, 1), time.Now().Add(time.Hour))
}

// writeCertificateFor is writeCertificate for an address, until a moment.
func writeCertificateFor(t *testing.T, dir, name string, address net.IP, until time.Time) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{address}, DNSNames: []string{publicName}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	return certFile, keyFile
}

// served returns the name in the certificate that a server shows.
func served(t *testing.T, s *server) string {
	t.Helper()
	defer lapse(50 * time.Millisecond) // who connects often without a key is shut out
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.api, "https://"), &tls.Config{InsecureSkipVerify: true})
	must(t, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// serveTLS starts a server with a certificate named first, in dir.
func serveTLS(t *testing.T, dir string) *server {
	t.Helper()
	certFile, keyFile := writeCertificate(t, dir, "first")
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", certFile, "--tls-key", keyFile)
	s.api = strings.Replace(s.api, "http://", "https://", 1)
	return s
}

// trustingTransport returns a transport that trusts a certificate and speaks one protocol.
func trustingTransport(t testing.TB, certFile, protocol string) *http.Transport {
	t.Helper()
	text, err := os.ReadFile(certFile)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return &http.Transport{
		DisableCompression: true,
		TLSClientConfig:    &tls.Config{RootCAs: roots, NextProtos: []string{protocol}},
		ForceAttemptHTTP2:  protocol == "h2",
	}
}

// trusting makes the server's client trust its certificate and speak one
// protocol.
func (s *server) trusting(certFile, protocol string) {
	s.t.Helper()
	base := trustingTransport(s.t, certFile, protocol)
	s.t.Cleanup(base.CloseIdleConnections)
	s.client = checking(s.t, base)
}

// wantNoOldTLS expects that a listener speaks no TLS before 1.2.
func wantNoOldTLS(t testing.TB, address string) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{
		InsecureSkipVerify: true, ServerName: publicName, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	})
	if err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 was accepted")
	} else if !strings.Contains(err.Error(), "remote error: tls: protocol version not supported") {
		t.Errorf("TLS 1.1 is answered: %v", err)
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	s := serveTLS(t, dir)
	key := newCaller(t, s.data)
	for _, c := range []struct {
		protocol string
		major    int
	}{{"h2", 2}, {"http/1.1", 1}} {
		t.Run(c.protocol, func(t *testing.T) {
			s.trusting(filepath.Join(dir, "cert.pem"), c.protocol)
			created := s.create(key, "dog")
			wantStatus(t, created, http.StatusCreated)
			list := s.list(key)
			wantStatus(t, list, http.StatusOK)
			if list.ProtoMajor != c.major || created.ProtoMajor != c.major {
				t.Errorf("it spoke %s", list.Proto)
			}
			wantError(t, s.do(http.MethodGet, "/v1/categories", ""), http.StatusUnauthorized, petcat.CodeMissingAPIKey)
		})
	}
	t.Run("admin on the loopback stays plain", func(t *testing.T) {
		if status, _ := s.ask("/readyz"); status != http.StatusOK || !strings.HasPrefix(s.admin, "http://") {
			t.Errorf("%s/readyz answers %d", s.admin, status)
		}
	})
	t.Run("old protocols are refused", func(t *testing.T) {
		wantNoOldTLS(t, strings.TrimPrefix(s.api, "https://"))
	})
	t.Run("plaintext to the TLS port", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "https://"))
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = io.WriteString(conn, "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer "+key+"\r\n\r\n")
		must(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return // it hung up, which is an answer too
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("it was answered with %s", res.Status)
		}
	})
}

func TestTLSCertificateIsRenewedWithoutARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serveTLS(t, dir)
	if got := served(t, s); got != "first" {
		t.Fatalf("it shows the certificate %q", got)
	}
	renewals, name := 0, ""
	var certFile, keyFile string
	renew := func() time.Duration {
		renewals++
		name = fmt.Sprint("renewed ", renewals)
		certFile, keyFile = writeCertificate(t, dir, name)
		return unseen(t, 5*time.Second, "it shows the renewed certificate", func() bool { return served(t, s) == name })
	}
	s.control().InTime("it shows the renewed certificate", certificateInterval, renew)

	spoilt := 0
	for what, spoil := range map[string]func() error{
		"garbage":           func() error { return os.WriteFile(certFile, []byte("half a certi"), 0o600) },
		"a missing file":    func() error { return os.Remove(keyFile) },
		"another one's key": func() error { _, other := writeCertificate(t, t.TempDir(), "other"); return os.Rename(other, keyFile) },
	} {
		must(t, spoil())
		// Longer than the pause between two checks of the files.
		if within(certificateInterval+200*time.Millisecond, func() bool { return served(t, s) != name }) {
			t.Errorf("%s has replaced the certificate with %q", what, served(t, s))
		}
		if log := s.log.String(); strings.Count(log, "the changed certificate cannot be used") != spoilt+1 {
			t.Errorf("the log does not say once that %s cannot be used:\n%s", what, last(log, 2000))
		}
		spoilt++
	}
	s.control().InTime("it shows the good certificate after bad ones", certificateInterval, renew)
}

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a self-signed certificate for 127.0.0.1 with a name, and its key.
func writeCertificate(t testing.TB, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	for _, file := range []string{certFile, keyFile} {
		must(t, os.Chtimes(file, time.Time{}, time.Unix(1, 0))) // as in file systems without modification times
	}
	return certFile, keyFile
}

// shown sends a request on a new connection, and returns the name in the certificate.
func (n *node) shown(secret string) string {
	n.t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	a, err := try(&http.Client{Transport: transport}, http.MethodGet, n.api+"/v1/usage", nil, by(secret))
	must(n.t, err)
	return a.TLS.PeerCertificates[0].Subject.CommonName
}

// TestTLS: the API supports HTTP/2 and HTTP/1.1 over TLS 1.2 and newer. It loads a renewed certificate
// without a restart, and ignores an invalid one.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir, place := t.TempDir(), directory(t)
	certFile, keyFile := writeCertificate(t, dir, "first")
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place, "--tls-cert", certFile, "--tls-key", keyFile)
	address := strings.TrimPrefix(n.api, "http://")
	n.api = "https://" + address
	roots := x509.NewCertPool()
	text, err := os.ReadFile(certFile)
	must(t, err)
	roots.AppendCertsFromPEM(text)
	for protocol, major := range map[string]int{"h2": 2, "http/1.1": 1} {
		config := &tls.Config{RootCAs: roots, NextProtos: []string{protocol}}
		n.client = newClient(t, &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: major == 2})
		if a := n.create(k.Key, "dog").want(t, http.StatusCreated); a.ProtoMajor != major {
			t.Errorf("protocol %s", a.Proto)
		}
	}
	old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", address, old); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 was accepted")
	}

	must(t, os.WriteFile(certFile, []byte("half a certi"), 0o600))
	eventually(t, "the failed reload is logged", func() bool {
		if name := n.shown(k.Key); name != "first" {
			t.Fatalf("the certificate is %s", name)
		}
		return strings.Contains(n.log.String(), "certificate reload failed")
	})
	writeCertificate(t, dir, "second")
	eventually(t, "the renewed certificate is served", func() bool { return n.shown(k.Key) == "second" })
	n.stop()
}

package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/config"
)

// certificate is a certificate and its key, from two PEM files. They are reloaded when they change, so
// that a renewal does not need a restart.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	clock             clock.Clock
	current           atomic.Pointer[tls.Certificate] // the last valid one
	content           [2]string                       // last read from the files; "" for an unreadable file
}

// certificateInterval is the interval at which the files are checked for changes.
const certificateInterval = time.Second

// loadCertificate loads the files. It returns a [petcat.UnusableError] if they are invalid.
func loadCertificate(certFile, keyFile string, c clock.Clock, logger *slog.Logger) (*certificate, error) {
	pair := &certificate{certFile: certFile, keyFile: keyFile, logger: logger, clock: c}
	if _, err := pair.read(); err != nil {
		return nil, petcat.Unusablef(nil, "the certificate cannot be used; check --tls-cert and --tls-key: %s",
			strings.TrimPrefix(err.Error(), "tls: "))
	}
	pair.warn()
	return pair, nil
}

// warn logs that clients reject the certificate, if they do.
func (c *certificate) warn() {
	leaf := c.leaf()
	if now := c.clock.Read().Time(); now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		c.logger.Warn("certificate is expired or not yet valid; clients reject it",
			"file", c.certFile,
			"not_before", leaf.NotBefore,
			"not_after", leaf.NotAfter)
	}
}

// CheckCertificate loads the certificate of the settings, and returns its expiry. It also returns
// an error if host is not "" and the certificate is not valid for host.
func CheckCertificate(s config.Settings, c clock.Clock, host string) (expires time.Time, err error) {
	pair, err := loadCertificate(s.TLSCert, s.TLSKey, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return time.Time{}, err
	}
	leaf := pair.leaf()
	if host != "" {
		err = leaf.VerifyHostname(host)
	}
	return leaf.NotAfter, err
}

// leaf returns the certificate without its chain.
func (c *certificate) leaf() *x509.Certificate { return c.current.Load().Leaf }

func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		CipherSuites: cipherSuites(),
		NextProtos:   []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}

// cipherSuites returns the suites for TLS 1.2: the secure ones of Go without CBC, which needs SHA-1. TLS
// 1.3 has its own.
func cipherSuites() (ids []uint16) {
	for _, suite := range tls.CipherSuites() {
		if !strings.Contains(suite.Name, "_CBC_") {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}

// reload loads the files if they changed. If they are invalid, the last valid certificate stays: a
// half-written renewal must not stop the service.
func (c *certificate) reload(context.Context) {
	switch changed, err := c.read(); {
	case err != nil && changed:
		c.logger.Warn("certificate reload failed; still serving the previous certificate",
			"file", c.certFile,
			"error", err)
	case changed:
		c.logger.Info("certificate reloaded", "file", c.certFile, "not_after", c.leaf().NotAfter)
		c.warn()
	}
}

// read loads the pair if the content of a file changed. It does not rely on the modification
// time, which a renewal may keep.
func (c *certificate) read() (changed bool, err error) {
	cert, errCert := os.ReadFile(c.certFile) // #nosec G304 -- the operator's setting
	key, errKey := os.ReadFile(c.keyFile)    // #nosec G304
	err = errors.Join(errCert, errKey)
	content := [2]string{string(cert), string(key)}
	if content == c.content && c.current.Load() != nil {
		return false, err
	}
	c.content = content
	pair, invalid := tls.X509KeyPair(cert, key)
	if err = cmp.Or(err, invalid); err == nil {
		c.current.Store(&pair)
	}
	return true, err
}

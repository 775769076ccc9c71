package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"petcat/internal/clock"
	"petcat/internal/config"
)

// certificate is a certificate and its key, from two PEM files. They are read again when
// they change, so that a renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	clock             clock.Clock
	logger            *slog.Logger

	mu      sync.Mutex
	checked clock.Reading    // guarded by mu: when the files were last read
	content [2][]byte        // guarded by mu: what they held then; nil for a file that could not be read
	current *tls.Certificate // guarded by mu: of the last content that could be used
}

// certificateInterval is how often, at most, the files are checked for changes.
const certificateInterval = time.Second

// loadCertificate reads the files. It returns a [config.Error] if they cannot be used.
func loadCertificate(certFile, keyFile string, c clock.Clock, logger *slog.Logger) (*certificate, error) {
	pair := &certificate{certFile: certFile, keyFile: keyFile, clock: c, logger: logger, checked: c.Read()}
	if _, err := pair.read(); err != nil {
		return nil, config.Errorf("the certificate cannot be used; check --tls-cert and --tls-key: %s", strings.TrimPrefix(err.Error(), "tls: "))
	}
	leaf := pair.current.Leaf
	if now := c.Read().Time(); now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		logger.Warn("clients refuse the certificate: it is not valid now", "file", certFile, "not_before", leaf.NotBefore, "not_after", leaf.NotAfter)
	}
	return pair, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: c.get,
	}
}

// get returns the certificate for a handshake. If the changed files cannot be used, that is
// the last good one: a half-written renewal must not stop the service.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	return c.current, nil
}

// expires returns when the certificate that is served expires.
func (c *certificate) expires() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	return c.current.Leaf.NotAfter
}

// names reports whether the certificate is valid for a host.
func (c *certificate) names(host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	return c.current.Leaf.VerifyHostname(host) == nil
}

// reload reads the files again without waiting for the interval.
func (c *certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reread()
}

// refresh reads the files again if the last time was long enough ago. The caller holds mu.
func (c *certificate) refresh() {
	if now := c.clock.Read(); now.Since(c.checked) >= certificateInterval {
		c.checked = now
		c.reread()
	}
}

// reread reads the files, and uses and logs what has changed. Their content decides: a renewal
// may keep the time of modification. The caller holds mu.
func (c *certificate) reread() {
	switch changed, err := c.read(); {
	case err != nil && changed:
		c.logger.Warn("the changed certificate cannot be used; the one before is still served", "file", c.certFile, "error", err)
	case changed:
		c.logger.Info("the changed certificate is served", "file", c.certFile, "not_after", c.current.Leaf.NotAfter)
	}
}

// read loads the pair if the content of a file differs from the last. The caller holds mu,
// except at start.
func (c *certificate) read() (changed bool, err error) {
	var content [2][]byte
	for i, name := range []string{c.certFile, c.keyFile} {
		text, failed := os.ReadFile(name) // #nosec G304 -- the operator's setting
		content[i], err = text, errors.Join(err, failed)
	}
	if bytes.Equal(content[0], c.content[0]) && bytes.Equal(content[1], c.content[1]) {
		return false, err
	}
	c.content = content
	if err != nil {
		return true, err
	}
	pair, err := tls.X509KeyPair(content[0], content[1])
	if err == nil {
		c.current = &pair
	}
	return true, err
}

package server

import (
	"crypto/tls"
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
	checked clock.Reading    // guarded by mu: when the files were last checked
	changed [2]time.Time     // guarded by mu: the files' modification times at the last check that saw a change
	broken  bool             // guarded by mu: the files could not be used at the last read
	current *tls.Certificate // guarded by mu
}

// certificateInterval is how often, at most, the files are checked for changes.
const certificateInterval = time.Second

// loadCertificate reads the files. It returns a [config.Error] if they cannot be used.
func loadCertificate(certFile, keyFile string, c clock.Clock, logger *slog.Logger) (*certificate, error) {
	pair := &certificate{certFile: certFile, keyFile: keyFile, clock: c, logger: logger, checked: c.Read()}
	pair.changed = pair.times()
	if err := pair.read(); err != nil {
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

// refresh reads the files again if they have changed, and logs each change once. Files that
// could not be used are read again at each check: their times do not show everything, such
// as permissions. The caller holds mu.
func (c *certificate) refresh() {
	now := c.clock.Read()
	if now.Since(c.checked) < certificateInterval {
		return
	}
	c.checked = now
	times := c.times()
	same := times == c.changed
	if same && !c.broken {
		return
	}
	c.changed = times
	err := c.read()
	c.broken = err != nil
	if err != nil {
		if !same {
			c.logger.Warn("the changed certificate cannot be used; the one before is still served", "file", c.certFile, "error", err)
		}
		return
	}
	c.logger.Info("the changed certificate is served", "file", c.certFile, "not_after", c.current.Leaf.NotAfter)
}

// read loads the pair. The caller holds mu, except at start.
func (c *certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current = &pair
	return nil
}

// times returns when the files were modified. A missing file has the zero time.
func (c *certificate) times() (times [2]time.Time) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

package server

import (
	"crypto/tls"
	"os"
	"strings"
	"sync"
	"time"

	"petcat/internal/clock"
	"petcat/internal/config"
)

// certificate is a pair of PEM files, read again when they change, so that a
// renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	clock             clock.Clock

	mu      sync.Mutex
	looked  clock.Reading    // guarded by mu: when the files were last looked at
	changed [2]time.Time     // guarded by mu: the files' times when they were read
	current *tls.Certificate // guarded by mu
}

// certificateInterval is how often handshakes look at the files.
const certificateInterval = time.Second

// loadCertificate reads the files; they must be good at start.
func loadCertificate(certFile, keyFile string, c clock.Clock) (*certificate, error) {
	pair := &certificate{certFile: certFile, keyFile: keyFile, clock: c, looked: c.Read()}
	if err := pair.read(); err != nil {
		return nil, config.Errorf("the certificate cannot be used; check --tls-cert and --tls-key: %s", strings.TrimPrefix(err.Error(), "tls: "))
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

// get returns the certificate for a handshake. Files that have become bad leave
// the last good one in place: a half-written renewal must not stop the service.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock.Read(); now.Since(c.looked) >= certificateInterval {
		c.looked = now
		if c.times() != c.changed {
			_ = c.read()
		}
	}
	return c.current, nil
}

// read loads the pair. The caller holds mu, except at start.
func (c *certificate) read() error {
	times := c.times()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current, c.changed = &pair, times
	return nil
}

// times returns when the files changed; the zero time for one that is missing.
func (c *certificate) times() (times [2]time.Time) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

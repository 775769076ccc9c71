package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/socket"
)

// listeners are the two sockets of a node.
type listeners struct {
	api, admin net.Listener
	// apiConns and adminConns accept the connections of api and admin: they are the same
	// listeners, or with TLS those below it. Without TLS, apiConns enforces the timeouts.
	apiConns, adminConns *socket.Listener
	apiTLS, adminTLS     bool
	certificate          *certificate // nil without TLS
}

// listen opens both sockets.
func listen(ctx context.Context, settings config.Settings, c clock.Clock, logger *slog.Logger) (*listeners, error) {
	l := &listeners{}
	if settings.TLS() {
		var err error
		if l.certificate, err = loadCertificate(settings.TLSCert, settings.TLSKey, c, logger); err != nil {
			return nil, err
		}
	}
	var err error
	if l.api, err = listenOn(ctx, "listen", settings.Listen); err != nil {
		return nil, err
	}
	if l.admin, err = listenOn(ctx, "admin-listen", settings.AdminListen); err != nil {
		_ = l.api.Close()
		return nil, err
	}
	timeouts := socket.Timeouts{Header: headerTimeout, Body: bodyTimeout, Write: writeTimeout, Idle: idleTimeout}
	if l.apiTLS = settings.TLS(); l.apiTLS {
		timeouts = socket.Timeouts{} // net/http enforces them
	}
	l.apiConns, l.adminConns = socket.New(l.api, timeouts), socket.New(l.admin, socket.Timeouts{})
	l.apiConns.Limit(socket.Limits{
		Total: maxConnections(), Unauthenticated: maxUnauthenticated, Grace: unauthenticatedGrace, Refused: maxRefused,
		Wasted: maxWasted, WastedPerSecond: wastedPerSecond, Exempt: settings.TrustedProxies,
	})
	l.apiConns.Linger(lingerTimeout)
	if l.apiTLS {
		l.apiConns.ReadAtMost(tlsReadBytes)
	}
	l.adminConns.Limit(socket.Limits{Total: maxAdminConnections})
	l.api, l.admin = l.apiConns, l.adminConns
	if l.apiTLS {
		l.api = tls.NewListener(l.api, l.certificate.config())
	}
	l.adminTLS = settings.AdminTLS()
	if l.adminTLS {
		l.admin = tls.NewListener(l.admin, l.certificate.config())
	}
	return l, nil
}

func listenOn(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := socket.Config(stallTimeout).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program already listens on %s; stop it, or choose another address with --%s: %w", address, flag, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EACCES):
		return nil, config.Errorf("this user is not allowed to listen on %s; ports below 1024 need a privilege; choose another with --%s: %w", address, flag, syscall.EACCES)
	case err != nil:
		// Only what the system said, without the names of its calls.
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno
		}
		return nil, config.Errorf("cannot listen on %s; choose another address with --%s: %w", address, flag, err)
	}
	return l, nil
}

// publicURL returns the address that clients use, without a slash at the end:
// the one that was set, or where the listener can be reached from this machine.
func (l *listeners) publicURL(settings config.Settings) string {
	if settings.PublicURL != "" {
		return settings.PublicURL
	}
	return config.LocalURL(l.api.Addr().String(), settings.TLS())
}

// adminURL returns where the admin listener can be reached from this machine.
func (l *listeners) adminURL() string { return config.LocalURL(l.admin.Addr().String(), l.adminTLS) }

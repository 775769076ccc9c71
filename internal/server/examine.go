package server

import (
	"context"
	"log/slog"
	"time"

	"petcat/internal/clock"
	"petcat/internal/config"
)

// The checks of this file do what [Start] does with the settings, so that petcat doctor can
// say beforehand whether a node would start. Their errors are those of Start.

// CheckListeners opens both listeners, and closes them again.
func CheckListeners(ctx context.Context, s config.Settings) error {
	for _, l := range []struct{ flag, address string }{{"listen", s.Listen}, {"admin-listen", s.AdminListen}} {
		opened, err := listenOn(ctx, l.flag, l.address)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
	}
	return nil
}

// CheckCertificate reads the certificate that the settings name, and returns when it
// expires. If host is not "" and the certificate is not valid for it, it also returns an
// error.
func CheckCertificate(s config.Settings, c clock.Clock, host string) (expires time.Time, err error) {
	pair, err := loadCertificate(s.TLSCert, s.TLSKey, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return time.Time{}, err
	}
	leaf := pair.current.Leaf
	if host != "" {
		err = leaf.VerifyHostname(host)
	}
	return leaf.NotAfter, err
}

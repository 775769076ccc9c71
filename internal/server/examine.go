package server

import (
	"context"
	"log/slog"
	"time"

	"petcat/internal/clock"
	"petcat/internal/config"
)

// What a node does with its settings at the start, for who wants to know beforehand
// whether it works. The errors are those of a start.

// CheckListeners opens the listeners, and closes them.
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
// expires. It returns an error, too, if it is not for the host, unless that is "".
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

// CheckCounters asks the shared counters that the settings name, for a set of data.
func CheckCounters(ctx context.Context, s config.Settings, dataset string) error {
	c, err := openCounters(ctx, s, dataset, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer c.Close()
	for partition := range c.Partitions() {
		if _, _, err := c.Probe(ctx, partition); err != nil {
			return err
		}
	}
	return nil
}

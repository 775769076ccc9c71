package store

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCleaningGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		rounds, ended := 0, make(chan struct{})
		go func() {
			defer close(ended)
			RunClean(ctx, slog.New(slog.NewTextHandler(&log, nil)), func(context.Context) error {
				rounds++
				if rounds == 2 {
					return errors.New("away")
				}
				return nil
			})
		}()
		time.Sleep(3*cleanEvery + cleanEvery/2)
		cancel()
		<-ended
		if rounds != 3 || strings.Count(log.String(), "error=away") != 1 {
			t.Errorf("%d rounds, log %q", rounds, log.String())
		}
	})
}

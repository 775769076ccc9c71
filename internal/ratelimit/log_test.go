package ratelimit_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

// However many calls fail: one line says that the store went away, and one that it is back.
func TestOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := new(bytes.Buffer), limittest.NewDays().Process()
		r := &rig{Memory: ratelimit.NewMemory(ratelimit.Options{
			Clock: ratelimit.NewClock(clock.NewManual(noon)), Days: store, Logger: slog.New(slog.NewTextHandler(log, nil)),
		})}
		r.admit(t, 10, 1)
		for n := range 2 {
			for _, fault := range []error{errDisk, nil} {
				store.Break(limittest.Faults{Write: fault})
				for range 3 {
					r.admit(t, 20, 1)
					time.Sleep(2 * time.Second)
				}
				back := n
				if fault == nil {
					back = n + 1
				}
				want(t, "lines of loss", strings.Count(log.String(), "the store is unavailable"), n+1)
				want(t, "lines of return", strings.Count(log.String(), "the store is available again"), back)
			}
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The log says when the store takes nothing back, and only then.
func TestFailedReturnIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, wall, store := new(bytes.Buffer), clock.NewManual(noon), limittest.NewDays().Process()
		m := ratelimit.NewMemory(ratelimit.Options{
			Clock: ratelimit.NewClock(wall), Days: store, Logger: slog.New(slog.NewTextHandler(log, nil)),
		})
		t.Cleanup(func() { _ = m.Close(context.WithoutCancel(t.Context())) })
		for _, fault := range []error{nil, errDisk} {
			if _, err := m.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: thou}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			store.Break(limittest.Faults{Write: fault})
			wall.Advance(11 * time.Minute)
			m.Sweep()
			synctest.Wait()
			if got := strings.Contains(log.String(), "could not be returned"); got != (fault != nil) {
				t.Errorf("the store fails with %v, and the log says %q", fault, log)
			}
		}
		store.Break(limittest.Faults{})
	})
}

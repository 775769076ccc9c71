package ratelimit_test

import (
	"testing"

	"go.uber.org/goleak"

	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startMemory(t testing.TB, s limittest.Setup) ratelimit.Limiter {
	t.Helper()
	return ratelimit.NewMemory(ratelimit.Options{
		Clock:  ratelimit.NewClock(s.Clock),
		Days:   s.Days,
		Bans:   s.Bans,
		Banned: s.Banned,
	})
}

func TestMemory(t *testing.T) { limittest.Run(t, startMemory) }

package redislimit_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petcat"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

func TestMain(m *testing.M) {
	// The client's refreshes of a cluster's map sleep for up to a second.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// starter returns how the suite starts a limiter: each on keys of its own, as
// if the server had been emptied, so that a restart forgets what the suite
// expects a process to forget.
func starter(server *redistest.Server) limittest.New {
	var started atomic.Int64
	return func(t testing.TB, s limittest.Setup) ratelimit.Limiter {
		t.Helper()
		l, err := redislimit.StartVirtual(t.Context(), redislimit.Options{
			URL:       petcat.NewSecret(server.URL()),
			Namespace: fmt.Sprintf("suite%d", started.Add(1)),
			Clock:     s.Clock,
			Days:      s.Days,
			Bans:      s.Bans,
			Banned:    s.Banned,
		}, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	limittest.Run(t, starter(redistest.Start(t)))
}

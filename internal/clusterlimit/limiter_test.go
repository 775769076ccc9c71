package clusterlimit_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"petcat"
	"petcat/internal/clusterlimit"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

func TestMain(m *testing.M) {
	// In benchmarks: rueidis closes connections to a cluster's former servers after a while, and
	// asks for the present ones again after a second.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// starter returns how the suite starts a limiter on counters in memory with so many
// partitions, which outlive it. Their clock is never set back.
func starter(partitions int, start func(context.Context, clusterlimit.Options) *clusterlimit.Limiter) limittest.New {
	return func(t testing.TB, s limittest.Setup) ratelimit.Limiter {
		t.Helper()
		return start(t.Context(), clusterlimit.Options{
			Counters: limittest.Server(s.Place, func() counters.Counters {
				now := ratelimit.NewClock(s.Clock).Now
				// The counters were there before the minute began.
				r := counterstest.NewReference(partitions, func() int64 { return now() - int64(time.Hour) })
				for p := range partitions {
					if _, _, err := r.Probe(t.Context(), p); err != nil {
						t.Fatal(err)
					}
					r.Step(p, time.Hour)
				}
				return r
			}),
			Clock: s.Clock, Days: s.Days, Bans: s.Bans, Banned: s.Banned,
		})
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	limittest.RunShared(t, starter(1, clusterlimit.StartVirtual))
}

// TestModel compares the limiter with the naive model. PETCAT_MODEL_STEPS sets the
// number of steps in each mode.
func TestModel(t *testing.T) {
	t.Parallel()
	steps := 40_000
	if s := os.Getenv("PETCAT_MODEL_STEPS"); s != "" {
		var err error
		if steps, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []petcat.BanMode{petcat.EnforceBans, petcat.ShadowBans, petcat.BansOff} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			limittest.RunModel(t, starter(3, clusterlimit.New), limittest.Model{
				Steps: steps, Bans: mode, Shared: true,
				Stepped: func(l ratelimit.Limiter) { l.(*clusterlimit.Limiter).Probe() },
				// In a bubble no request waits for 50 ms because the machine is busy.
				Within: synctest.Test,
			})
		})
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	limittest.RunNodes(t, starter(1, clusterlimit.StartVirtual))
}

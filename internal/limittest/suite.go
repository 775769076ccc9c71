package limittest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/ratelimit"
)

// Setup is what a limiter under test is to run on.
type Setup struct {
	Clock  clock.Clock
	Days   petcat.DayStore
	Bans   petcat.BanMode
	Banned func(petcat.Ban)
	// Place is the same for all processes of a test, one after the other.
	Place *Place
}

// Place is where processes count that outlive none of their counts: a server.
type Place struct {
	mu     sync.Mutex
	server any // guarded by mu
}

// Server returns the server at a place, which start makes when it is first needed.
func Server[S any](p *Place, start func() S) S {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		p.server = start()
	}
	return p.server.(S)
}

// New starts a limiter. The suite closes it.
type New func(t testing.TB, s Setup) ratelimit.Limiter

// Run tests the rules of a limiter.
func Run(t *testing.T, start New) {
	t.Run("windows", func(t *testing.T) { testWindows(t, start) })
	t.Run("parallel", func(t *testing.T) { testParallel(t, start) })
	t.Run("bans", func(t *testing.T) { testBans(t, start) })
	t.Run("peeks", func(t *testing.T) { testPeeks(t, start) })
	t.Run("clock", func(t *testing.T) { testClock(t, start) })
	t.Run("restart", func(t *testing.T) { testRestart(t, start) })
}

// RunShared tests the rules of a limiter whose counts outlive its process.
func RunShared(t *testing.T, start New) {
	t.Run("windows", func(t *testing.T) { testWindows(t, start) })
	t.Run("parallel", func(t *testing.T) { testParallel(t, start) })
	t.Run("bans", func(t *testing.T) { testBans(t, start) })
	t.Run("peeks", func(t *testing.T) { testPeeks(t, start) })
	t.Run("restart", func(t *testing.T) { testSharedRestart(t, start) })
}

// origin is where the suite's clocks start: 18 s into a minute, and 13 h 59 min
// 42 s before the day ends.
var origin = time.Date(2026, 3, 10, 10, 0, 18, 0, time.UTC)

var (
	free     = petcat.Quota{PerMinute: 60, PerDay: 1_000}
	business = petcat.Quota{PerMinute: 1_000, PerDay: 100_000}
)

// rig is a limiter with everything around it.
type rig struct {
	t     testing.TB
	start New
	mode  petcat.BanMode
	clock *clock.Manual
	days  *Days
	place Place

	process *Process
	limiter ratelimit.Limiter

	mu   sync.Mutex
	bans []petcat.Ban // guarded by mu
}

func newRig(t testing.TB, start New, mode petcat.BanMode) *rig {
	t.Helper()
	r := &rig{t: t, start: start, mode: mode, clock: clock.NewManual(origin), days: NewDays()}
	r.boot()
	t.Cleanup(func() { r.halt() })
	return r
}

// boot starts a process on what the days remember.
func (r *rig) boot() {
	r.t.Helper()
	r.process = r.days.Process()
	r.limiter = r.start(r.t, Setup{Clock: r.clock, Days: r.process, Bans: r.mode, Place: &r.place, Banned: func(b petcat.Ban) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bans = append(r.bans, b)
	}})
}

// halt stops the process; after a crash nothing comes of it but the end of its
// goroutines.
func (r *rig) halt() {
	_ = r.limiter.Close(context.Background())
}

// crash ends the process without a chance to tidy up, and starts the next.
func (r *rig) crash() {
	r.t.Helper()
	r.process.Crash()
	r.halt()
	r.boot()
}

// restart ends the process in order, and starts the next.
func (r *rig) restart() {
	r.t.Helper()
	if err := r.limiter.Close(r.t.Context()); err != nil {
		r.t.Fatalf("Close: %v", err)
	}
	r.boot()
}

// reported returns the bans that the limiter told of.
func (r *rig) reported() []petcat.Ban {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]petcat.Ban(nil), r.bans...)
}

func (r *rig) spend(c ratelimit.Charge) ratelimit.Decision {
	r.t.Helper()
	d, err := r.limiter.Spend(r.t.Context(), c)
	if err != nil {
		r.t.Fatalf("Spend: %v", err)
	}
	return d
}

// spendTimes sends n requests that must all meet the same verdict, and returns
// the last decision.
func (r *rig) spendTimes(n int, c ratelimit.Charge, want ratelimit.Verdict) ratelimit.Decision {
	r.t.Helper()
	var d ratelimit.Decision
	for i := range n {
		if d = r.spend(c); d.Verdict != want {
			r.t.Fatalf("request %d of %d: verdict %d, want %d; %+v", i+1, n, d.Verdict, want, d)
		}
	}
	return d
}

// unix returns the Unix second of a time such as 10:01:00 on the first day.
func unix(hour, minute, second int) int64 {
	return time.Date(2026, 3, 10, hour, minute, second, 0, time.UTC).Unix()
}

func wantState(t testing.TB, what string, got, want ratelimit.WindowState) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantEqual[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

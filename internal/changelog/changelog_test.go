package changelog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/changelog"
	"petcat/internal/clock"
)

// log is a store's change log.
type log struct {
	mu      sync.Mutex            // also of what the follower did
	at      petcat.Revision       // guarded by mu
	changes []petcat.AccessChange // with the revisions that they happened in; guarded by mu
	away    error                 // guarded by mu
	slow    time.Duration         // how long an answer takes; guarded by mu
	asked   []petcat.Revision     // guarded by mu
}

// set changes the log.
func (l *log) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *log) Revision(context.Context) (petcat.Revision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at, l.away
}

func (l *log) AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error) {
	l.mu.Lock()
	l.asked = append(l.asked, after)
	answer, err, slow := l.after(after), l.away, l.slow
	l.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return petcat.AccessChange{}, ctx.Err()
		}
	}
	if err != nil {
		return petcat.AccessChange{}, err
	}
	return answer, nil
}

// after returns what changed. The caller holds mu.
func (l *log) after(after petcat.Revision) petcat.AccessChange {
	out := petcat.AccessChange{Revision: l.at}
	for _, c := range l.changes {
		if c.Revision > after {
			out.Keys = append(out.Keys, c.Keys...)
			out.Accounts = append(out.Accounts, c.Accounts...)
			out.Bans = append(out.Bans, c.Bans...)
		}
	}
	return out
}

// change records the change of a key, after a number of writes that are none
// of the follower's business.
func (l *log) change(key byte, others int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at += petcat.Revision(others + 1)
	l.changes = append(l.changes, petcat.AccessChange{Revision: l.at, Keys: []petcat.KeyHash{{key}}})
}

// follower is a running follower and what it did, in order.
type follower struct {
	t      *testing.T
	clock  *clock.Manual
	log    *log
	did    []string     // guarded by log.mu
	output bytes.Buffer // read only when the bubble stands still
	run    *changelog.Follower
	cancel context.CancelFunc
	ended  atomic.Bool
}

func follow(t *testing.T, l *log) *follower {
	t.Helper()
	f := &follower{t: t, log: l, clock: clock.NewManual(time.Unix(1_000, 0))}
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel = cancel
	run, err := changelog.Start(ctx, changelog.Options{
		Store: l, Clock: f.clock, Logger: slog.New(slog.NewTextHandler(&f.output, nil)),
		Apply: func(c petcat.AccessChange) {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, k := range c.Keys {
				f.did = append(f.did, fmt.Sprintf("apply %d", k[0]))
			}
			f.did = append(f.did, slices.Repeat([]string{"ban"}, len(c.Bans))...)
		},
		Polled: func(asked clock.Reading) {
			l.set(func() { f.did = append(f.did, fmt.Sprintf("heard %s", time.Duration(asked.Mono))) })
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.run = run
	go func() { run.Run(ctx); f.ended.Store(true) }()
	synctest.Wait() // Run waits for its first poll
	return f
}

// pass lets so much time go by, on the follower's clock, too.
func (f *follower) pass(d time.Duration) {
	f.t.Helper()
	const step = 50 * time.Millisecond
	for ; d > 0; d -= step {
		f.clock.Advance(min(step, d))
		time.Sleep(min(step, d))
		synctest.Wait()
	}
}

// wantDone checks what was done since the last look.
func (f *follower) wantDone(want ...string) {
	f.t.Helper()
	if did := f.done(); !slices.Equal(did, want) {
		f.t.Fatalf("done: %q, want %q", did, want)
	}
}

// done returns what was done since the last look.
func (f *follower) done() (did []string) {
	f.log.set(func() { did, f.did = f.did, nil })
	return did
}

// inBubble runs a test on a follower that is stopped at the end.
func inBubble(t *testing.T, l *log, test func(*follower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, l)
		defer func() { f.cancel(); synctest.Wait() }()
		test(f)
	})
}

func TestHandsOverInOrder(t *testing.T) {
	l := &log{at: 10}
	l.change(1, 0) // before the start: nobody has read the older state
	inBubble(t, l, func(f *follower) {
		f.pass(200 * time.Millisecond)
		f.wantDone("heard 200ms")
		l.change(2, 0)
		l.change(3, 5)
		f.wantDone()
		f.pass(200 * time.Millisecond)
		f.wantDone("apply 2", "apply 3", "heard 400ms")
		l.change(4, 100)
		f.pass(400 * time.Millisecond)
		f.wantDone("apply 4", "heard 600ms", "heard 800ms")
		if want := []petcat.Revision{11, 11, 18, 119}; !slices.Equal(l.asked, want) {
			t.Errorf("asked for what is after %v, want %v", l.asked, want)
		}
	})
}

func TestSeesAChangeWithinASecond(t *testing.T) {
	// However the change falls between two polls, with reads of 300 ms.
	for offset := time.Duration(0); offset < time.Second; offset += 50 * time.Millisecond {
		inBubble(t, &log{slow: 300 * time.Millisecond}, func(f *follower) {
			f.pass(offset)
			f.log.change(1, 0)
			f.pass(time.Second)
			if did := f.done(); !slices.Contains(did, "apply 1") {
				t.Errorf("not seen a second after the change at %s: %q", offset, did)
			}
		})
	}
}

func TestBansAreHandedOver(t *testing.T) {
	l := &log{}
	inBubble(t, l, func(f *follower) {
		l.set(func() {
			l.at++
			l.changes = append(l.changes, petcat.AccessChange{Revision: l.at, Bans: []petcat.Ban{{Key: 1}}})
		})
		f.pass(200 * time.Millisecond)
		f.wantDone("ban", "heard 200ms")
	})
}

// Polled tells when the poll was asked, not when it was answered.
func TestHeardTellsWhenItWasAsked(t *testing.T) {
	inBubble(t, &log{slow: 150 * time.Millisecond}, func(f *follower) {
		f.pass(350 * time.Millisecond)
		f.wantDone("heard 200ms")
	})
}

// catchUp calls CatchUp so many times at once, and returns how they ended.
func (f *follower) catchUp(ctx context.Context, callers int) <-chan error {
	results := make(chan error, callers)
	for range callers {
		go func() { results <- f.run.CatchUp(ctx) }()
	}
	synctest.Wait()
	return results
}

func TestCatchUp(t *testing.T) {
	inBubble(t, &log{slow: 50 * time.Millisecond}, func(f *follower) {
		first := f.catchUp(f.t.Context(), 1)
		f.log.change(1, 0)
		// The poll under way may have been answered before the change.
		others := f.catchUp(f.t.Context(), 100)
		f.pass(50 * time.Millisecond)
		if len(first) != 1 || len(others) != 0 {
			t.Fatalf("after one poll %d and %d of 1 and 100 have their answer", len(first), len(others))
		}
		f.pass(100 * time.Millisecond)
		f.wantDone("heard 0s", "apply 1", "heard 100ms") // of the clock that is put forward
		if len(others) != 100 || <-first != nil || <-others != nil {
			t.Errorf("%d of 100 have their answer", len(others)+1)
		}
	})
}

func TestCatchUpIsPaced(t *testing.T) {
	inBubble(t, &log{}, func(f *follower) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for range 200 {
					if err := f.run.CatchUp(f.t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		began := time.Now()
		all.Wait()
		if took := time.Since(began); took < 900*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("200 rounds took %s, want 5 ms between two", took)
		}
		if n := len(f.log.asked); n > 206 {
			t.Errorf("%d polls in a second", n)
		}
	})
}

func TestCatchUpFails(t *testing.T) {
	inBubble(t, &log{slow: 50 * time.Millisecond}, func(f *follower) {
		away := errors.New("away")
		f.log.set(func() { f.log.away = away })
		result := f.catchUp(f.t.Context(), 1)
		f.pass(100 * time.Millisecond)
		if err := <-result; !errors.Is(err, away) {
			t.Errorf("the store is away: %v", err)
		}
		ctx, cancel := context.WithCancel(f.t.Context())
		result = f.catchUp(ctx, 1)
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who went away: %v", err)
		}
		result = f.catchUp(f.t.Context(), 1)
		f.cancel()
		if err := <-result; err == nil {
			t.Error("nobody follows, and everything is known")
		}
		if err := f.run.CatchUp(f.t.Context()); err == nil {
			t.Error("nobody follows any more, and everything is known")
		}
	})
}

func TestStoreAway(t *testing.T) {
	l := &log{at: 5}
	inBubble(t, l, func(f *follower) {
		f.pass(200 * time.Millisecond)
		f.wantDone("heard 200ms")
		for outage := 1; outage <= 2; outage++ {
			l.set(func() { l.away = errors.New("disk on fire") })
			l.change(byte(outage), 0)
			f.pass(2 * time.Second)
			f.wantDone() // not heard, nothing handed over
			if n := strings.Count(f.output.String(), "level=ERROR"); n != outage {
				t.Errorf("outage %d: %d errors in the log\n%s", outage, n, &f.output)
			}
			l.set(func() { l.away = nil })
			f.pass(200 * time.Millisecond)
			if did := f.done(); len(did) != 2 || did[0] != fmt.Sprintf("apply %d", outage) || !strings.HasPrefix(did[1], "heard ") {
				t.Errorf("after outage %d: %q", outage, did)
			}
			if n := strings.Count(f.output.String(), "level=INFO"); n != outage {
				t.Errorf("outage %d: its end is told %d times\n%s", outage, n, &f.output)
			}
		}
		if !strings.Contains(f.output.String(), "disk on fire") {
			t.Errorf("the log does not say why\n%s", &f.output)
		}
	})
}

func TestStoreThatDoesNotAnswer(t *testing.T) {
	inBubble(t, &log{slow: time.Hour}, func(f *follower) {
		f.pass(6 * time.Second) // the first poll and its 5 s
		f.wantDone()
		f.log.set(func() { f.log.slow = 0 })
		f.pass(6 * time.Second)
		if did := f.done(); len(did) == 0 || !strings.Contains(f.output.String(), "level=ERROR") {
			t.Errorf("done %q, log\n%s", did, &f.output)
		}
	})
}

func TestStop(t *testing.T) {
	for name, slow := range map[string]time.Duration{"between polls": 0, "during a poll": time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, &log{slow: slow}, func(f *follower) {
				f.pass(450 * time.Millisecond)
				f.done()
				f.cancel()
				synctest.Wait()
				if !f.ended.Load() {
					t.Error("Run has not returned")
				}
				f.wantDone()
				if f.output.Len() > 0 {
					t.Errorf("stopping is no failure:\n%s", &f.output)
				}
			})
		})
	}
}

func TestStartFails(t *testing.T) {
	away := errors.New("away")
	_, err := changelog.Start(t.Context(), changelog.Options{Store: &log{away: away}, Clock: clock.NewManual(time.Unix(0, 0))})
	if !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
}

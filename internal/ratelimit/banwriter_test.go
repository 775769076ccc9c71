package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// banStore notes which keys' bans it was asked to save, and which it saved.
type banStore struct {
	mu    sync.Mutex
	away  error                                        // guarded by mu
	gate  chan struct{}                                // a save waits until it is closed; nil: none does
	asked int                                          // guarded by mu
	saved []petcat.KeyID                               // guarded by mu
	times []time.Duration                              // since the first call; guarded by mu
	first time.Time                                    // guarded by mu
	stuck map[petcat.KeyID]func(context.Context) error // how saving fails
}

func (s *banStore) SaveBan(ctx context.Context, b petcat.Ban) error {
	if stuck := s.stuck[b.Key]; stuck != nil {
		return stuck(ctx)
	}
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == 0 {
		s.first = time.Now()
	}
	s.asked++
	s.times = append(s.times, time.Since(s.first))
	if b.Key == unknownKey {
		return petcat.Errorf(petcat.CodeNotFound, "no such key")
	}
	if s.away != nil {
		return s.away
	}
	s.saved = append(s.saved, b.Key)
	return nil
}

const unknownKey petcat.KeyID = 1 << 40

func (s *banStore) setAway(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

// wantSaved checks which bans were saved, and with how many calls, since
// the last look.
func (s *banStore) wantSaved(t *testing.T, asked int, keys ...petcat.KeyID) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.saved, keys) || s.asked != asked {
		t.Errorf("saved %v with %d calls, want %v with %d", s.saved, s.asked, keys, asked)
	}
	s.saved, s.asked = nil, 0
}

// writing runs a test in a bubble with a writer, which is closed at the end.
func writing(t *testing.T, s *banStore, test func(t *testing.T, w *ratelimit.BanWriter, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := new(bytes.Buffer)
		w := ratelimit.NewBanWriter(s, slog.New(slog.NewTextHandler(log, nil)))
		defer w.Close()
		test(t, w, log)
	})
}

// aMinute is a ban of the shortest kind.
func aMinute(key petcat.KeyID) petcat.Ban {
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	return petcat.Ban{Key: key, Account: 1, Level: 1, StartedAt: at, EndsAt: at.Add(time.Minute)}
}

func errorsIn(log *bytes.Buffer) int { return strings.Count(log.String(), "level=ERROR") }

func TestBansAreSavedInOrder(t *testing.T) {
	s := &banStore{}
	writing(t, s, func(t *testing.T, w *ratelimit.BanWriter, log *bytes.Buffer) {
		for key := range petcat.KeyID(5) {
			w.Banned(aMinute(key))
		}
		synctest.Wait()
		s.wantSaved(t, 5, 0, 1, 2, 3, 4)
		if log.Len() > 0 {
			t.Errorf("the log says %s", log)
		}
	})
}

func TestBanIsTriedAgainUntilItIsSaved(t *testing.T) {
	s := &banStore{away: errors.New("disk full")}
	writing(t, s, func(t *testing.T, w *ratelimit.BanWriter, log *bytes.Buffer) {
		w.Banned(aMinute(1))
		w.Banned(aMinute(2))
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		s.wantSaved(t, 22)
		if errorsIn(log) != 1 || !strings.Contains(log.String(), "disk full") {
			t.Errorf("the log says %s", log)
		}
		s.setAway(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		s.wantSaved(t, 2, 1, 2)
	})
}

func TestBanIsGivenUpWhenItHasEnded(t *testing.T) {
	s := &banStore{away: errors.New("away")}
	writing(t, s, func(t *testing.T, w *ratelimit.BanWriter, log *bytes.Buffer) {
		w.Banned(aMinute(1))
		w.Banned(petcat.Ban{Key: 2}) // over already: tried once
		time.Sleep(time.Hour)
		synctest.Wait()
		s.wantSaved(t, 61)
		if last := s.times[len(s.times)-1]; last > time.Minute {
			t.Errorf("the last attempt came after %s", last)
		}
		if !strings.Contains(log.String(), "ended before it could be saved") {
			t.Errorf("the log does not say what was given up: %s", log)
		}
		s.setAway(nil)
		w.Banned(aMinute(3))
		synctest.Wait()
		s.wantSaved(t, 1, 3)
	})
}

func TestBanOfAnUnknownKeyHoldsNobodyUp(t *testing.T) {
	s := &banStore{}
	writing(t, s, func(t *testing.T, w *ratelimit.BanWriter, log *bytes.Buffer) {
		w.Banned(aMinute(unknownKey))
		w.Banned(aMinute(2))
		synctest.Wait()
		s.wantSaved(t, 2, 2)
		if errorsIn(log) != 1 {
			t.Errorf("the log says %s", log)
		}
	})
}

func TestCloseSavesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &banStore{gate: make(chan struct{})}
		w := ratelimit.NewBanWriter(s, slog.New(slog.DiscardHandler))
		for key := range petcat.KeyID(100) {
			w.Banned(aMinute(key))
		}
		closed := make(chan struct{})
		go func() { w.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close has returned while bans were waiting")
		default:
		}
		close(s.gate)
		<-closed
		if n := len(s.saved); n != 100 {
			t.Errorf("%d of 100 bans are saved", n)
		}
	})
}

func TestCloseDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	s := &banStore{away: errors.New("away")}
	synctest.Test(t, func(t *testing.T) {
		w := ratelimit.NewBanWriter(s, slog.New(slog.DiscardHandler))
		for key := range petcat.KeyID(10) {
			w.Banned(aMinute(key))
		}
		synctest.Wait()
		began := time.Now()
		w.Close()
		if took := time.Since(began); took != 0 {
			t.Errorf("closing took %s", took)
		}
		s.wantSaved(t, 20) // each once more
	})
}

// However many wait, and though the store is busy with one.
func TestBannedNeverBlocksAndDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &banStore{gate: make(chan struct{})}
		log := new(bytes.Buffer)
		w := ratelimit.NewBanWriter(s, slog.New(slog.NewTextHandler(log, nil)))
		const many = 20_000
		for range 3 { // of each key, the last one is saved
			for key := range petcat.KeyID(many) {
				w.Banned(aMinute(key)) // a bubble in which all wait is a deadlock, and fails
			}
		}
		close(s.gate)
		w.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		slices.Sort(s.saved)
		if n := len(slices.Compact(s.saved)); n != many || errorsIn(log) > 0 {
			t.Errorf("the bans of %d keys are saved, want %d; the log says %s", n, many, log)
		}
	})
}

// A ban that the store fails to save, for whatever reason, holds up no other.
func TestBanThatCannotBeSavedHoldsNobodyUp(t *testing.T) {
	for name, stuck := range map[string]func(context.Context) error{
		"refused":   func(context.Context) error { return errors.New("constraint") },
		"no answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			s := &banStore{stuck: map[petcat.KeyID]func(context.Context) error{1: stuck}}
			writing(t, s, func(t *testing.T, w *ratelimit.BanWriter, _ *bytes.Buffer) {
				sixHours := aMinute(1)
				sixHours.EndsAt = sixHours.StartedAt.Add(6 * time.Hour)
				w.Banned(sixHours)
				w.Banned(aMinute(2))
				w.Banned(aMinute(3))
				time.Sleep(7 * time.Second)
				synctest.Wait()
				s.mu.Lock()
				defer s.mu.Unlock()
				if !slices.Equal(s.saved, []petcat.KeyID{2, 3}) {
					t.Errorf("saved %v, want 2 and 3", s.saved)
				}
			})
		})
	}
}

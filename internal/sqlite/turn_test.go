package sqlite

import (
	"sync"
	"testing"
	"time"

	"petcat/internal/store"
)

// A server that always has something to write lets others in between two of its
// transactions.
func TestBusyServerLetsOthersWrite(t *testing.T) {
	dir := t.TempDir()
	s, other := openAt(t, dir, Options{Serving: true}), openAt(t, dir, Options{})
	defer closeNow(t, s)
	defer closeNow(t, other)
	var mu sync.Mutex
	var order []string
	write := func(s *Store, name string, before func()) func() {
		return func() {
			err := s.Change(t.Context(), name, func(*store.Tx) error {
				before()
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	entered, proceed := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(write(s, "server", func() {
		s.writer.gap = 30 * time.Second // a busy machine wakes others late
		close(entered)
		<-proceed
	}))
	<-entered
	all.Go(write(s, "server again", func() {}))
	all.Go(write(other, "other", func() {}))
	for begun := time.Now(); !s.writer.turn.Wanted(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the other does not say that it waits")
		}
	}
	close(proceed)
	all.Wait()
	if len(order) != 3 || order[1] != "other" {
		t.Errorf("the order was %q", order)
	}
}

// A process that wants its turn and never takes it only slows others down.
func TestWantedTurnThatIsNeverTaken(t *testing.T) {
	dir := t.TempDir()
	s, other := openAt(t, dir, Options{Serving: true}), openAt(t, dir, Options{})
	defer closeNow(t, s)
	defer closeNow(t, other)
	other.writer.turn.Want()
	defer other.writer.turn.Release()
	create(t, s, "Dogs")
	create(t, s, "Cats")
}

package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/stalltest"
	"petcat/internal/store"
)

// A server that always has something to write lets others in between two of its
// transactions, however long those take.
func TestBusyServerLetsOthersWrite(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{Serving: true})
	defer closeNow(t, s)
	other := openAt(t, dir, Options{})
	defer closeNow(t, other)
	const transaction = 5 * time.Millisecond
	var transactions atomic.Int64
	var busy sync.WaitGroup
	stop := make(chan struct{})
	for range 2 { // so that one always waits
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := s.Change(t.Context(), "be busy", func(*store.Tx) error {
					transactions.Add(1)
					<-time.After(transaction)
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	control := stalltest.Start(t)
	for range 20 {
		control.Try("to get in", func() (late string) {
			before := transactions.Load()
			for transactions.Load() < before+2 {
				<-time.After(time.Millisecond)
			}
			before = transactions.Load()
			if err := other.Change(t.Context(), "get in", func(*store.Tx) error { return nil }); err != nil {
				t.Error(err)
			}
			// The one that runs, one that has not seen it waiting, and one that begins
			// while it looks.
			if waited := transactions.Load() - before; waited > 3 {
				return fmt.Sprintf("it waited for %d transactions", waited)
			}
			return ""
		})
	}
	close(stop)
	busy.Wait()
}

// A process that wants its turn and never takes it only slows others down.
func TestWantedTurnThatIsNeverTaken(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir, Options{Serving: true})
	defer closeNow(t, s)
	other := openAt(t, dir, Options{})
	defer closeNow(t, other)
	other.writer.turn.Want()
	for range 10 {
		create(t, s, "Dogs")
	}
	other.writer.turn.Release()
}

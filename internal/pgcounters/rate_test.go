package pgcounters

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// TestCallsInASecond: a node makes 400 calls a second, and 20 more after a pause, however
// many want to and however soon they end: here at once, because there is no server.
func TestCallsInASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const seconds, callers, most = 5, 50, 400
		config, err := pgxpool.ParseConfig("postgres:///petcat")
		if err != nil {
			t.Fatal(err)
		}
		config.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no server") }
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		c := newCounters(pool, nil)
		defer c.Close()
		var mu sync.Mutex
		calls := make(map[int]int)
		began := time.Now()
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for time.Since(began) < seconds*time.Second {
					_, _, _ = c.Probe(t.Context(), 0)
					mu.Lock()
					calls[int(time.Since(began)/time.Second)]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		for second := range seconds {
			if n := calls[second]; n > most+callsAtOnce || n < most-callsAtOnce {
				t.Errorf("%d calls in second %d, want %d", n, second, most)
			}
		}
		time.Sleep(time.Second) // each call's interval ends
	})
}

package postgres

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
)

// kills is how often the server is killed; PETCAT_TORTURE_KILLS makes it more.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PETCAT_TORTURE_KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// load is what clients of two nodes do while the server is killed.
type load struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // the clients' life
	stores  [2]*Store
	clients sync.WaitGroup

	mu           sync.Mutex
	acknowledged map[petcat.CategoryID]string // guarded by mu; all creates that were answered
	keyed        map[string]petcat.CategoryID // guarded by mu; those with an idempotency key, by name
	wrong        atomic.Int64                 // answers that are neither a success nor a 503
	since        atomic.Int64                 // successes since the last reset
}

// run lets clients create until ctx ends: half of them with idempotency keys,
// repeating each create until it is answered.
func (l *load) run() {
	for client := range 16 {
		store := l.stores[client%2]
		l.clients.Go(func() {
			for n := 0; l.ctx.Err() == nil; n++ {
				name := fmt.Sprintf("%d/%d", client, n)
				if client < 8 {
					l.once(store, name)
				} else {
					l.untilAnswered(store, name)
				}
			}
		})
	}
}

// judge notes an answer, and reports whether it was a success.
func (l *load) judge(name string, created petcat.CreatedCategory, err error) bool {
	switch code := petcat.CodeOf(err); code {
	case "":
		l.mu.Lock()
		l.acknowledged[created.Category.ID] = name
		l.mu.Unlock()
		l.since.Add(1)
		return true
	case petcat.CodeServiceUnavailable, petcat.CodeIdempotencyInProgress:
		time.Sleep(5 * time.Millisecond) // a caller would wait for a second
	default:
		l.wrong.Add(1)
		l.t.Errorf("create %s: %v", name, err)
	}
	return false
}

func (l *load) once(s *Store, name string) {
	created, err := tryCreate(context.WithoutCancel(l.ctx), l.t, s, name, "")
	l.judge(name, created, err)
}

// untilAnswered ends a create that was begun even after the test is over, so that
// each key is made in the end.
func (l *load) untilAnswered(s *Store, name string) {
	for {
		created, err := tryCreate(context.WithoutCancel(l.ctx), l.t, s, name, petcat.IdempotencyKey(name))
		if l.judge(name, created, err) {
			l.mu.Lock()
			l.keyed[name] = created.Category.ID
			l.mu.Unlock()
			return
		}
	}
}

// A killed server loses nothing that was acknowledged, and repetitions with an
// idempotency key make nothing twice. Both nodes work again within 5 s.
func TestTortureKilledServer(t *testing.T) {
	pg := pgtest.New(t, pgtest.Options{})
	url := pg.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &load{t: t, ctx: ctx, acknowledged: make(map[petcat.CategoryID]string), keyed: make(map[string]petcat.CategoryID)}
	for i := range l.stores {
		l.stores[i] = openAt(t, url, Options{Serving: true})
		defer closeNow(t, l.stores[i])
	}
	l.run()
	control := stalltest.Start(t)
	awaitSuccesses := func() {
		l.since.Store(0)
		control.Measure("200 creates after the server's return", 5*time.Second, func() {
			for start := time.Now(); l.since.Load() < 200; time.Sleep(time.Millisecond) {
				if took := time.Since(start); took > time.Minute {
					t.Fatalf("%d creates within %s of the server's return", l.since.Load(), took)
				}
			}
		})
	}
	for range kills(t) {
		awaitSuccesses()
		pg.Kill()
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	awaitSuccesses()
	cancel()
	l.clients.Wait()

	stored := make(map[petcat.CategoryID]string)
	times := make(map[string]int)
	err := l.stores[0].EachCategory(t.Context(), func(c petcat.RevisedCategory) error {
		stored[c.ID] = c.Name
		times[c.Name]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, name := range l.acknowledged {
		if stored[id] != name {
			t.Errorf("category %d was acknowledged as %q and is %q", id, name, stored[id])
		}
	}
	for name, id := range l.keyed {
		if times[name] != 1 {
			t.Errorf("%q with an idempotency key, category %d, is there %d times", name, id, times[name])
		}
	}
	t.Logf("%d kills: %d creates acknowledged, %d stored, %d with keys", kills(t), len(l.acknowledged), len(stored), len(l.keyed))
}

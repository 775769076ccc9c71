package importer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	client "petcat/client"
)

const (
	// inFlight is how many creates are sent at once. The service commits them together,
	// and more do not make the import faster.
	inFlight = 64
	// grace is how long requests in flight may take when an import ends early.
	grace = 2 * time.Second
)

// Missing returns the rows of a file that a list does not have: rows are matched by name and
// description, and n equal rows mean n categories.
func Missing(rows []Row, list []client.Category) (missing []Row) {
	type content struct{ name, description string }
	have := make(map[content]int, len(list))
	for _, c := range list {
		have[content{c.Name, c.Description}]++
	}
	for _, row := range rows {
		if says := (content{row.Name, row.Description}); have[says] > 0 {
			have[says]--
		} else {
			missing = append(missing, row)
		}
	}
	return missing
}

// Import creates rows.
type Import struct {
	// Create creates one category, under an idempotency key.
	Create func(ctx context.Context, n client.NewCategory, key string) error
	// Created is called after each create, and Refused for each row that the service
	// refuses. They are called one at a time.
	Created func()
	Refused func(BadRow)
}

// Run creates rows. The error is the first one that other rows would get too, or that of the
// context: rows may be left then. A row that the service refuses is no error of Run.
func (im *Import) Run(ctx context.Context, rows []Row) error {
	feeding, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(feeding, func() { time.AfterFunc(grace, cancel) })()

	keys := rand.Text() // each run has its own idempotency keys
	var mu sync.Mutex
	done := 0 // guarded by mu
	answered := func(row Row, err error) {
		mu.Lock()
		defer mu.Unlock()
		e, refused := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			im.Created()
		case refused && aboutTheRow(e):
			im.Refused(BadRow{Line: row.Line, Code: e.Code, Message: e.Message})
		default:
			stop(fmt.Errorf("line %d: %w", row.Line, err))
			return
		}
		done++
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range inFlight {
		workers.Go(func() {
			for feeding.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(rows) {
					return
				}
				n := client.NewCategory{Name: rows[i].Name, Description: rows[i].Description}
				answered(rows[i], im.Create(sending, n, fmt.Sprintf("%s-%d", keys, i)))
			}
		})
	}
	workers.Wait()
	if done == len(rows) {
		return nil
	}
	return context.Cause(feeding)
}

// aboutTheRow reports whether an answer refuses only this row, and not all rows.
func aboutTheRow(e *client.Error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	default:
		return false
	}
}

// Finish returns when n more creates can be done within the windows of an account: after
// now, by the quotas alone. laterDay says that the quota of today does not admit them.
func Finish(n int64, windows []client.WindowUsage, now time.Time) (at time.Time, laterDay bool) {
	length := map[string]time.Duration{"minute": time.Minute, "day": 24 * time.Hour}
	at = now
	for _, w := range windows {
		if n <= w.Remaining || w.Limit == 0 || !w.Reset.After(now) {
			continue
		}
		// The first window after this one begins at w.Reset.
		full := (n - w.Remaining - 1) / w.Limit
		if end := w.Reset.Add(time.Duration(full) * length[w.Window]); end.After(at) {
			at = end
		}
		laterDay = laterDay || w.Window == "day"
	}
	return at, laterDay
}

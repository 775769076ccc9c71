package importer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	client "github.com/petcat-api/petcat/client"
)

const (
	// inFlight is the number of concurrent requests. The service commits them together; more
	// would not be faster.
	inFlight = 64
	// grace is the time for requests in flight if an import stops early.
	grace = 2 * time.Second
)

// Plan is the work of an import.
type Plan struct {
	Rows     []Row // to send
	Bad      []BadRow
	Existing int64 // rows that the list has
}

// Mode has the options of an import.
type Mode struct {
	Update     bool // a row with an id updates that category
	Duplicates bool // rows without an id are created even if they exist
}

// NewPlan compares the rows of a file with the existing categories. Rows without an id, or all
// rows without m.Update, are matched by name and description; n equal rows mean n categories.
func NewPlan(rows []Row, list []client.Category, m Mode) Plan {
	var p Plan
	if m.Update {
		rows, list = p.byID(rows, list)
	}
	type content struct{ name, description string }
	have := map[content]int{}
	for _, c := range list {
		have[content{c.Name, c.Description}]++
	}
	for _, row := range rows {
		if says := (content{row.Name, row.Description}); have[says] > 0 && !m.Duplicates {
			have[says]--
			p.Existing++
		} else {
			p.Rows = append(p.Rows, row)
		}
	}
	return p
}

// Reject moves the rows that the service would reject to p.Bad. A dry run needs it; otherwise the service
// decides, which may be another version.
func (p *Plan) Reject() {
	p.Rows = slices.DeleteFunc(p.Rows, func(row Row) bool {
		_, err := petcat.ParseNewCategory(&row.Name, &row.Description)
		e, invalid := errors.AsType[*petcat.Error](err)
		if invalid {
			p.Bad = append(p.Bad, row.bad(client.Code(e.Code), e.Message))
		}
		return invalid
	})
}

// byID plans the rows with ids. It returns the other rows, and the categories without a row.
func (p *Plan) byID(rows []Row, list []client.Category) (otherRows []Row, others []client.Category) {
	known := make(map[string]client.Category, len(list))
	for _, c := range list {
		known[strconv.FormatInt(c.ID, 10)] = c
	}
	seen := map[string]bool{}
	for _, row := range rows {
		c, found := known[row.ID]
		switch {
		case row.ID == "":
			otherRows = append(otherRows, row)
		case !found:
			reason := fmt.Sprintf("there is no category %s; omit the id to create one", row.ID)
			p.Bad = append(p.Bad, row.bad(client.CodeNotFound, reason))
		case seen[row.ID]:
			p.Bad = append(p.Bad, row.bad(CodeInvalidRow, fmt.Sprintf("the id %s occurs twice", row.ID)))
		case row.Name == c.Name && (row.NoDescription || row.Description == c.Description):
			p.Existing++
		default:
			row.Update = c.ID
			p.Rows = append(p.Rows, row)
		}
		seen[row.ID] = true
	}
	matched := func(c client.Category) bool { return seen[strconv.FormatInt(c.ID, 10)] }
	return otherRows, slices.DeleteFunc(slices.Clone(list), matched)
}

// Run calls send for each row, concurrently; send creates the category with an idempotency key,
// or updates it. Run returns the rows that the service rejected, by line. It stops early with the
// first error that does not concern a single row, or with the error of the context.
func Run(
	ctx context.Context, rows []Row, send func(ctx context.Context, row Row, key string) error,
) (rejected []BadRow, err error) {
	feeding, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(feeding, func() { time.AfterFunc(grace, cancel) })()

	keys := rand.Text() // each run has its own idempotency keys
	var mu sync.Mutex
	done := 0 // guarded by mu, like rejected
	finished := func(row Row, err error) {
		mu.Lock()
		defer mu.Unlock()
		e, isResponse := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
		case isResponse && aboutTheRow(e, row.Update != 0):
			rejected = append(rejected, row.bad(e.Code, e.Message))
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
				finished(rows[i], send(sending, rows[i], fmt.Sprintf("%s-%d", keys, i)))
			}
		})
	}
	workers.Wait()
	slices.SortFunc(rejected, func(a, b BadRow) int { return a.Line - b.Line })
	if done == len(rows) {
		return rejected, nil
	}
	return rejected, context.Cause(feeding)
}

// aboutTheRow reports whether an error concerns only one row. An update may fail because another
// account created the category.
func aboutTheRow(e *client.Error, update bool) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	case http.StatusForbidden, http.StatusNotFound:
		return update
	default:
		return false
	}
}

// Finish estimates when an account has sent n more requests, by its quotas only. laterDay is
// true if today's quota is not enough.
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

// Package importer creates the categories of a file through the API, each once, however
// often it is interrupted and begun again.
//
// A row of the file is identified by its content, and equal rows also by their number. The
// journal, a file of its own, records for each row the idempotency key of its request,
// before that is sent, and then the id of the category. So the next import knows which rows
// are left. A row whose outcome is unknown is sent again with its key while the service
// remembers the key; after that, the import looks for it in the list.
//
// It keeps a hash of each row in memory, not the rows. The client obeys the limits. The
// package knows no flags: the caller explains its errors. If the service is unavailable or
// refuses requests for longer than the client waits, an import ends, and the next one
// continues.
package importer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"petcat/client"
	"petcat/internal/categoryfile"
)

const (
	// inFlight is how many creates are sent at once. The service commits them together,
	// and more do not make the import faster.
	inFlight = 64
	// batch is how many rows share a sync of the journal. It is that large because during
	// the sync only the last rows of the batch before are in flight.
	batch = 4 * inFlight
	// grace is how long requests in flight may take when an import ends early. A row that
	// is not answered by then has an unknown outcome, and the next import sends it again.
	grace = 2 * time.Second
)

// service is what an import needs of the client: [client.Categories].
type service interface {
	Create(ctx context.Context, n client.NewCategory) (client.Category, error)
	Pages(ctx context.Context, p client.Paging) iter.Seq2[[]client.Category, error]
}

// Import is one run over a file.
type Import struct {
	// Rows is the file.
	Rows    iter.Seq2[categoryfile.Row, error]
	Journal *Journal
	Service service
	Now     func() time.Time
	// Created is called after each category that was created, and Refused for each row
	// that cannot be. They are called one at a time, and hold the import up.
	Created func()
	Refused func(Refusal)
}

// Refusal says why a row was not created.
type Refusal struct {
	Line int
	// Code is the service's, or [CodeInvalidRow].
	Code    client.Code
	Message string
}

// CodeInvalidRow is the code of a row that cannot be read.
const CodeInvalidRow client.Code = "invalid_row"

// Result counts what became of the rows.
type Result struct {
	Created  int `json:"created"`  // created by this import
	Existing int `json:"existing"` // created by an earlier import
	Found    int `json:"found"`    // how many of Existing were found in the list, because their outcome was unknown
	Refused  int `json:"refused"`
}

// Count returns how many rows an import would send. It sends nothing. It returns an error if
// the file cannot be read to its end.
func Count(rows iter.Seq2[categoryfile.Row, error], j *Journal) (todo int, err error) {
	ids := counter{}
	for row, err := range rows {
		if _, bad := errors.AsType[*categoryfile.RowError](err); bad {
			continue
		}
		if err != nil {
			return 0, err
		}
		if j.category(ids.next(row.Name, row.Description)) == 0 {
			todo++
		}
	}
	return todo, nil
}

// attempt is a row that is to be sent.
type attempt struct {
	row categoryfile.Row
	id  rowID
	key string // the idempotency key
	// again says that an earlier import sent it, and does not know the outcome.
	again bool
}

// Run creates the rows that do not exist yet. After an error, rows may be left: the error is
// the first one that other rows would get too, or that of the context. Rows that the service
// refuses are no error of Run.
func (im *Import) Run(ctx context.Context) (Result, error) {
	feeding, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(feeding, func() { time.AfterFunc(grace, cancel) })()

	r := &run{Import: im, stop: stop, work: make(chan attempt)}
	var workers sync.WaitGroup
	for range inFlight {
		workers.Go(func() {
			for a := range r.work {
				c, err := im.Service.Create(sending, client.NewCategory{Name: a.row.Name, Description: a.row.Description, IdempotencyKey: a.key})
				r.answered(a, c, err)
				r.flying.Done()
			}
		})
	}
	err := r.feed(feeding)
	close(r.work)
	workers.Wait()
	if cause := context.Cause(feeding); cause != nil {
		err = cause
	}
	if syncErr := im.Journal.sync(); err == nil {
		err = syncErr
	}
	return r.result, err
}

// run is the state of an import while it runs.
type run struct {
	*Import
	stop context.CancelCauseFunc
	work chan attempt
	// flying counts the rows that workers have.
	flying sync.WaitGroup

	mu     sync.Mutex
	result Result // guarded by mu
}

// feed hands all rows that are to be sent to the workers.
func (r *run) feed(ctx context.Context) error {
	ids, waiting, doubts := counter{}, make([]attempt, 0, batch), []attempt(nil)
	add := func(a attempt) (err error) {
		if !r.prepare(&a) {
			return nil
		}
		if waiting = append(waiting, a); len(waiting) == batch {
			err, waiting = r.send(ctx, waiting), waiting[:0]
		}
		return err
	}
	for row, err := range r.Rows {
		if ctx.Err() != nil {
			break
		}
		if e, bad := errors.AsType[*categoryfile.RowError](err); bad {
			r.refuse(Refusal{Line: e.Line, Code: CodeInvalidRow, Message: e.Message})
			continue
		}
		if err != nil {
			_ = r.send(ctx, waiting) // the rows before the error are valid; err ends the import in any case
			return err
		}
		a := attempt{row: row, id: ids.next(row.Name, row.Description)}
		if r.Journal.doubtful(a.id, r.Now()) {
			doubts = append(doubts, a)
		} else if err := add(a); err != nil {
			return err
		}
	}
	if err := r.send(ctx, waiting); err != nil {
		return err
	}
	waiting = waiting[:0]
	if err := r.resolve(ctx, len(doubts)); err != nil {
		return err
	}
	for _, a := range doubts {
		if err := add(a); err != nil {
			return err
		}
	}
	return r.send(ctx, waiting)
}

// resolve finds out whether doubtful rows exist. It comes last: the categories of equal rows
// must be known by then, or two rows could be matched with one category.
func (r *run) resolve(ctx context.Context, doubts int) error {
	if doubts == 0 {
		return nil
	}
	r.flying.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	found, err := r.Journal.resolve(ctx, r.Service, r.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Found += found
	return err
}

// prepare sets the key of an attempt, and reports whether its row must still be created.
func (r *run) prepare(a *attempt) (needed bool) {
	if r.Journal.category(a.id) != 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result.Existing++
		return false
	}
	a.key = r.Journal.pending(a.id)
	if a.again = a.key != ""; !a.again {
		a.key = rand.Text()
	}
	return true
}

// send records rows in the journal and hands them to the workers, until the context ends.
func (r *run) send(ctx context.Context, rows []attempt) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := r.Journal.begin(rows, r.Now()); err != nil {
		return err
	}
	for i, a := range rows {
		r.flying.Add(1)
		select {
		case r.work <- a:
		case <-ctx.Done():
			r.flying.Done()
			return r.Journal.withdraw(firstTries(rows[i:])...)
		}
	}
	return nil
}

// answered records the outcome of a row.
func (r *run) answered(a attempt, c client.Category, err error) {
	if err == nil {
		if err := r.Journal.created(a.id, c.ID); err != nil {
			r.stop(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.result.Created++
		r.Created()
		return
	}
	if !errors.Is(err, client.ErrOutcomeUnknown) {
		if err := r.Journal.withdraw(firstTries([]attempt{a})...); err != nil {
			r.stop(err)
		}
	}
	if e, ok := errors.AsType[*client.Error](err); ok && aboutTheRow(e) {
		r.refuse(Refusal{Line: a.row.Line, Code: e.Code, Message: e.Message})
		return
	}
	r.stop(fmt.Errorf("line %d: %w", a.row.Line, err))
}

// firstTries returns the rows that no earlier import sent. The request of an earlier import
// may have been carried out, even if this one's was not.
func firstTries(rows []attempt) (ids []rowID) {
	for _, a := range rows {
		if !a.again {
			ids = append(ids, a.id)
		}
	}
	return ids
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

func (r *run) refuse(why Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Refused++
	r.Refused(why)
}

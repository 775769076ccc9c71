package importer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"petcat/client"
	"petcat/internal/categoryfile"
	"petcat/internal/importer"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// service is a small Pet Category Service in memory, as the client shows it: names need
// not be unique, and an idempotency key is kept for 24 hours. Tests with the real one are
// in e2e/.
type service struct {
	mu       sync.Mutex
	now      time.Time // guarded by mu, as is all below
	list     []client.Category
	keys     map[string]remembered
	received map[string]bool // keys, of all requests
	// fate says what becomes of a create; nil: all are carried out.
	fate func(client.NewCategory) fate
	// hold is called before each answer; it may be nil.
	hold func()
}

type remembered struct {
	category client.Category
	at       time.Time
}

// fate is what becomes of a create: it is carried out or not, and err is what its caller
// is told.
type fate struct {
	carriedOut bool
	err        error
}

var errLost = fmt.Errorf("connection reset; %w", client.ErrOutcomeUnknown)

func newService() *service {
	return &service{now: time.Unix(1_795_000_000, 0), keys: map[string]remembered{}, received: map[string]bool{}}
}

func (s *service) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *service) Create(ctx context.Context, n client.NewCategory) (client.Category, error) {
	if s.hold != nil {
		defer s.hold()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return client.Category{}, ctx.Err()
	}
	s.received[n.IdempotencyKey] = true
	f := fate{carriedOut: true}
	if s.fate != nil {
		f = s.fate(n)
	}
	if !f.carriedOut {
		return client.Category{}, f.err
	}
	r, known := s.keys[n.IdempotencyKey]
	if !known || s.now.Sub(r.at) > 24*time.Hour {
		r = remembered{s.add(n.Name, n.Description), s.now}
		s.keys[n.IdempotencyKey] = r
	}
	return r.category, f.err
}

// add is a create by anybody. The caller holds mu, or is alone.
func (s *service) add(name, description string) client.Category {
	c := client.Category{ID: int64(len(s.list) + 1), Name: name, Description: description}
	s.list = append(s.list, c)
	return c
}

func (s *service) Pages(_ context.Context, p client.Paging) iter.Seq2[[]client.Category, error] {
	return func(yield func([]client.Category, error) bool) {
		s.mu.Lock()
		rest := slices.Clone(s.list[p.After:])
		s.mu.Unlock()
		for page := range slices.Chunk(rest, 3) {
			if !yield(page, nil) {
				return
			}
		}
	}
}

// names returns how often each name exists.
func (s *service) names() map[string]int {
	names := map[string]int{}
	for _, c := range s.list {
		names[c.Name]++
	}
	return names
}

// answer is an error of the service.
func answer(status int, code client.Code) error {
	return fmt.Errorf("create category: %w", &client.Error{Status: status, Code: code, Message: "no"})
}

var here = importer.NewOwner("http://localhost/v1", "pck_live_one")

// rowsOf returns a file with rows of these names, in the lines from 2 on. An empty name
// stands for a row that cannot be read.
func rowsOf(names ...string) iter.Seq2[categoryfile.Row, error] {
	return func(yield func(categoryfile.Row, error) bool) {
		for i, name := range names {
			row, err := categoryfile.Row{Line: i + 2, Name: name}, error(nil)
			if name == "" {
				row, err = categoryfile.Row{}, &categoryfile.RowError{Line: i + 2, Message: "what is this?"}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// outcome is what an import said.
type outcome struct {
	importer.Result
	refused []importer.Refusal
	created int // calls of Created
	err     error
}

// imports runs an import with a journal.
func (s *service) imports(t testing.TB, journal string, rows iter.Seq2[categoryfile.Row, error]) (o outcome) {
	t.Helper()
	j, err := importer.OpenJournal(journal, here, false)
	must(t, err)
	im := importer.Import{
		Rows: rows, Journal: j, Service: s, Now: s.time,
		Created: func() { o.created++ },
		Refused: func(r importer.Refusal) { o.refused = append(o.refused, r) },
	}
	o.Result, o.err = im.Run(t.Context())
	must(t, j.Close())
	if o.created != o.Created || len(o.refused) != o.Refused {
		t.Errorf("it was told of %d creates and %d refusals; the result is %+v", o.created, len(o.refused), o.Result)
	}
	return o
}

// wantResult compares what an import says of itself.
func (o outcome) wantResult(t testing.TB, want importer.Result, err error) {
	t.Helper()
	if o.Result != want || !errors.Is(o.err, err) {
		t.Errorf("the result is %+v, %v; want %+v, %v", o.Result, o.err, want, err)
	}
}

// wantOnce: each of the names exists as often as it is in the file.
func (s *service) wantOnce(t testing.TB, names ...string) {
	t.Helper()
	want := map[string]int{}
	for _, name := range names {
		if name != "" {
			want[name]++
		}
	}
	have := s.names()
	for name, n := range want {
		if have[name] != n {
			t.Errorf("%q exists %d times, want %d", name, have[name], n)
		}
	}
}

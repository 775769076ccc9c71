package importer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/client"
	"petcat/internal/categoryfile"
	"petcat/internal/importer"
)

// many returns names, each of which is there once.
func many(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("category ", i))
	}
	return names
}

// TestImport: rows are created, equal ones as often as they are there, and bad ones do not
// stop the others. The same file again creates nothing, and a longer one what is new.
func TestImport(t *testing.T) {
	s, journal := newService(), filepath.Join(t.TempDir(), "journal")
	s.fate = func(n client.NewCategory) fate {
		if n.Name == "bad" {
			return fate{err: answer(400, client.CodeInvalidField)}
		}
		return fate{carriedOut: true}
	}
	names := append(many(500), "twin", "", "bad", "twin")
	o := s.imports(t, journal, rowsOf(names...))
	o.wantResult(t, importer.Result{Created: 502, Refused: 2}, nil)
	slices.SortFunc(o.refused, func(a, b importer.Refusal) int { return a.Line - b.Line })
	want := []importer.Refusal{{Line: 503, Code: importer.CodeInvalidRow, Message: "what is this?"}, {Line: 504, Code: client.CodeInvalidField, Message: "no"}}
	if diff := cmp.Diff(want, o.refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	s.now = s.now.Add(100 * 24 * time.Hour)
	o = s.imports(t, journal, rowsOf(names...))
	o.wantResult(t, importer.Result{Existing: 502, Refused: 2}, nil)

	names = append([]string{"twin", "new", "twin"}, names...) // four twins now
	j, err := importer.OpenJournal(journal, here, false)
	must(t, err)
	if todo, err := importer.Count(rowsOf(names...), j); todo != 4 || err != nil {
		t.Errorf("%d rows are to be sent, %v; want the bad one, the new one, and two twins", todo, err)
	}
	must(t, j.Close())
	s.imports(t, journal, rowsOf(names...)).wantResult(t, importer.Result{Created: 3, Existing: 502, Refused: 2}, nil)
	s.wantOnce(t, slices.DeleteFunc(names, func(name string) bool { return name == "bad" })...)
	if n := len(s.list); n != 505 {
		t.Errorf("%d categories exist, want 505", n)
	}
}

// TestImportEnds: what the others would get, too, ends an import, and the next one does
// what is left.
func TestImportEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		fate fate
		err  error
	}{
		{"401", fate{err: answer(401, client.CodeRevokedAPIKey)}, client.CodeRevokedAPIKey},
		{"403", fate{err: answer(403, client.CodeForbidden)}, client.CodeForbidden},
		{"404", fate{err: answer(404, client.CodeNotFound)}, client.CodeNotFound},
		{"410", fate{err: answer(410, client.CodeOperationSunset)}, client.CodeOperationSunset},
		{"429", fate{err: answer(429, client.CodeDailyQuotaExceeded)}, client.CodeDailyQuotaExceeded},
		{"503", fate{err: fmt.Errorf("%w; %w", answer(503, client.CodeServiceUnavailable), client.ErrOutcomeUnknown)}, client.CodeServiceUnavailable},
		{"lost", fate{carriedOut: true, err: errLost}, client.ErrOutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, journal, names := newService(), filepath.Join(t.TempDir(), "journal"), many(1000)
			s.fate = func(client.NewCategory) fate {
				if len(s.list) >= 300 {
					return c.fate
				}
				return fate{carriedOut: true}
			}
			o := s.imports(t, journal, rowsOf(names...))
			if !errors.Is(o.err, c.err) || o.Created != 300 || o.Refused != 0 {
				t.Errorf("the result is %+v, %v", o.Result, o.err)
			}
			if len(s.received) > 500 {
				t.Errorf("%d rows were sent", len(s.received))
			}
			s.fate = nil
			s.imports(t, journal, rowsOf(names...)).wantResult(t, importer.Result{Created: 700, Existing: 300}, nil)
			s.wantOnce(t, names...)
			if len(s.list) != 1000 {
				t.Errorf("%d categories exist", len(s.list))
			}
		})
	}
}

// TestImportOfABrokenFile: what stands before the fault is created.
func TestImportOfABrokenFile(t *testing.T) {
	s, journal, broken := newService(), filepath.Join(t.TempDir(), "journal"), errors.New("input/output error")
	rows := func(yield func(categoryfile.Row, error) bool) {
		_ = yield(categoryfile.Row{Line: 1, Name: "a"}, nil) && yield(categoryfile.Row{}, broken)
	}
	s.imports(t, journal, rows).wantResult(t, importer.Result{Created: 1}, broken)
	j, err := importer.OpenJournal(journal, here, false)
	must(t, err)
	if _, err := importer.Count(rows, j); !errors.Is(err, broken) {
		t.Errorf("the rows of a broken file are counted: %v", err)
	}
	must(t, j.Close())
}

// TestImportIsCancelled: what is in flight gets two seconds, and what waits is not sent.
func TestImportIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, journal, names := newService(), filepath.Join(t.TempDir(), "journal"), many(1000)
		ctx, cancel := context.WithCancel(t.Context())
		slow := slowService{service: s, takes: time.Second}
		time.AfterFunc(1500*time.Millisecond, cancel)
		begun := time.Now()
		j, err := importer.OpenJournal(journal, here, false)
		must(t, err)
		im := importer.Import{Rows: rowsOf(names...), Journal: j, Service: slow, Now: s.time, Created: func() {}, Refused: func(importer.Refusal) {}}
		result, err := im.Run(ctx)
		must(t, j.Close())
		if took := time.Since(begun); !errors.Is(err, context.Canceled) || took != 2*time.Second || result.Created != 128 {
			t.Errorf("%+v, %v after %s; want what 64 workers do in two seconds", result, err, took)
		}

		ctx, cancel = context.WithCancel(t.Context())
		slow.takes = time.Minute
		time.AfterFunc(time.Second, cancel)
		begun = time.Now()
		j, err = importer.OpenJournal(journal, here, false)
		must(t, err)
		im.Journal, im.Service = j, slow
		result, err = im.Run(ctx)
		must(t, j.Close())
		if took := time.Since(begun); !errors.Is(err, context.Canceled) || took != 3*time.Second || result.Created != 0 {
			t.Errorf("%+v, %v after %s; want that nobody waits longer than 2 s", result, err, took)
		}
		s.imports(t, journal, rowsOf(names...))
		if s.wantOnce(t, names...); len(s.list) != 1000 {
			t.Errorf("%d categories exist", len(s.list))
		}
	})
}

// slowService takes time for each create, and carries it out in the end, even if its
// caller waits no longer.
type slowService struct {
	*service
	takes time.Duration
}

func (s slowService) Create(ctx context.Context, n client.NewCategory) (client.Category, error) {
	select {
	case <-time.After(s.takes):
		return s.service.Create(ctx, n)
	case <-ctx.Done():
		if _, err := s.service.Create(context.WithoutCancel(ctx), n); err != nil {
			return client.Category{}, err
		}
		return client.Category{}, fmt.Errorf("%w; %w", ctx.Err(), client.ErrOutcomeUnknown)
	}
}

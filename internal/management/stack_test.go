package management_test

import (
	"crypto/rand"
	"database/sql/driver"
	"runtime"
	"slices"
	"strings"
	"testing"

	driversqlite "modernc.org/sqlite"

	"github.com/petcat-api/petcat/internal/store"
)

// TestChangeIsShallow: from its handler to the call of database/sql, a change passes at most 8
// functions, in one goroutine, so that a reader can follow it.
func TestChangeIsShallow(t *testing.T) {
	var stack []string
	record := func(*driversqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		stack = functions()
		return nil, nil // SQL's NULL
	}
	name := "record_stack_" + rand.Text() // the driver keeps the functions of earlier runs
	must(t, driversqlite.RegisterScalarFunction(name, 0, record))
	s := start(t)
	err := s.store.Change(t.Context(), "watch", func(tx *store.Tx) error {
		return tx.Run(`CREATE TEMP TRIGGER watch AFTER INSERT ON accounts BEGIN SELECT ` + name + `(); END`)
	})
	must(t, err)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)

	isHandler := func(f string) bool { return strings.HasSuffix(f, "management.(*API).createAccount") }
	isDatabase := func(f string) bool { return strings.HasPrefix(f, "database/sql.") }
	from := slices.IndexFunc(stack, isHandler)
	to := slices.IndexFunc(stack, isDatabase)
	if from < 0 || to < from {
		t.Fatalf("the stack has no handler, or no call of database/sql:\n%s", strings.Join(stack, "\n"))
	}
	passed := stack[from:to]
	t.Logf("%d functions:\n%s", len(passed), strings.Join(passed, "\n"))
	if len(passed) > 8 {
		t.Errorf("a change passes %d functions, want at most 8", len(passed))
	}
}

// functions returns the functions of the stack of this goroutine, the outermost one first.
func functions() (all []string) {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		all = append(all, frame.Function)
		if !more {
			slices.Reverse(all)
			return all
		}
	}
}

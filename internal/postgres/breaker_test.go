package postgres

import (
	"errors"
	"testing"
	"time"

	"petcat/internal/clock"
)

func TestCircuits(t *testing.T) {
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	reads, writes := newCircuits(c)
	call := func(over circuit, err error) error {
		t.Helper()
		return over.run(t.Context(), func() error { return err })
	}
	want := func(what string, over circuit, cause error) {
		t.Helper()
		if err := call(over, nil); !errors.Is(err, cause) || cause != nil && severityOf(err) != unreachable {
			t.Errorf("%s: %v; want %v", what, err, cause)
		}
	}
	_ = call(writes, &lostError{errNoAnswer})
	want("writes after one without an answer", writes, errNoAnswer)
	want("reads meanwhile", reads, nil)
	_ = call(reads, &unreachableError{errNoConnection})
	want("reads without a connection", reads, errNoConnection)
	c.Advance(openFor)
	want("reads later", reads, nil)
	want("writes later", writes, nil)
	_ = call(reads, &unreachableError{errNoConnection})
	want("writes, when reads have no connection", writes, errNoConnection)
	if reads.isClosed() || writes.isClosed() {
		t.Error("one is closed though there is no connection")
	}
}

package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"petcat/internal/clock"
)

// A database that answers may refuse to write. Whether it still does is told by
// the next write, but for a full disk, where one that needs no room says nothing.
func TestRefusal(t *testing.T) {
	state := func(code string) error { return &pgconn.PgError{Code: code} }
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	r := refusal{clock: c}
	for _, step := range []struct {
		what  string
		err   error
		later time.Duration
		want  bool
	}{
		{"a write", nil, 0, false},
		{"a wrong statement", state("42601"), 0, false},
		{"a database that is away", errors.New("away"), 0, false},
		{"a standby", state("25006"), 0, true},
		{"a database that is away", errors.New("away"), time.Hour, true},
		{"a write", nil, 0, false},
		{"a full disk", state("53100"), 0, true},
		{"a write", nil, fullFor - 1, true},
		{"a full disk", state("53100"), fullFor - 1, true},
		{"a write", nil, 1, false},
	} {
		r.note(step.err)
		c.Advance(step.later)
		if got := r.holds(); got != step.want {
			t.Errorf("%s later than %s: writes are refused: %v, want %v", step.later, step.what, got, step.want)
		}
	}
}

// TestClockAhead: how far this machine's clock is ahead of the database's, or behind it.
func TestClockAhead(t *testing.T) {
	url := server.Database(t)
	for _, by := range []time.Duration{time.Hour, 0, -time.Hour} {
		c := clock.NewManual(time.Now())
		s := openAt(t, url, Options{Clock: c})
		c.Step(time.Since(c.Read().Time()) + by)
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats().ClockAhead; got < by-30*time.Second || got > by+30*time.Second {
			t.Errorf("a clock that is %s ahead is said to be %s ahead", by, got)
		}
		closeNow(t, s)
	}
}

package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"petcat/internal/clocktest"
	"petcat/internal/store"
)

// TestFullDisk: the disk counts as full for a while, because some writes succeed on a full disk.
func TestFullDisk(t *testing.T) {
	c := clocktest.NewManual(time.Now())
	s := openAt(t, server.Database(t), Options{Clock: c})
	defer closeNow(t, s)
	write := func(end error) { _ = s.Change(t.Context(), "write", func(*store.Tx) error { return end }) }
	for _, step := range []struct {
		end   error
		later time.Duration
		want  bool
	}{
		{nil, 0, true},
		{&pgconn.PgError{Code: diskFull}, fullFor - 1, false},
		{&pgconn.PgError{Code: diskFull}, fullFor - 1, false},
		{nil, 0, false},
		{nil, 1, true},
	} {
		write(step.end)
		c.Advance(step.later)
		if err := s.Check(t.Context()); (err == nil) != step.want {
			t.Errorf("%s after a write that ended with %v, a check returns %v", step.later, step.end, err)
		}
	}
}

func TestClockAhead(t *testing.T) {
	url := server.Database(t)
	for _, by := range []time.Duration{time.Hour, 0, -time.Hour} {
		c := clocktest.NewManual(time.Now())
		s := openAt(t, url, Options{Clock: c})
		c.Step(time.Since(c.Read().Time()) + by)
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats().ClockAhead; got < by-30*time.Second || got > by+30*time.Second {
			t.Errorf("a clock that is %s ahead is reported as %s ahead", by, got)
		}
		closeNow(t, s)
	}
}

package postgres

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/store"
)

// TestFullDisk: the disk counts as full for a while, because some writes succeed on a full disk.
func TestFullDisk(t *testing.T) {
	c := clocktest.NewManual(time.Now())
	s := openAt(t, server.Database(t), Options{Clock: c})
	defer closeNow(t, s)
	const full = `DO $$ BEGIN RAISE SQLSTATE '53100'; END $$`
	write := func(statement string) {
		_ = s.Change(t.Context(), "write", func(tx *store.Tx) error {
			_, err := tx.Exec(statement)
			return err
		})
	}
	for _, step := range []struct {
		end   string
		later time.Duration
		want  bool
	}{
		{`SELECT 1`, 0, true},
		{full, fullFor - 1, false},
		{full, fullFor - 1, false},
		{`SELECT 1`, 0, false},
		{`SELECT 1`, 1, true},
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

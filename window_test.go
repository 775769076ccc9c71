package petcat_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"petcat"
)

// For every second since long before the epoch: it lies in exactly one window
// of each kind, which is as long as it should be, ends after it, and begins
// where the calendar says.
func TestWindowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom([]petcat.Window{petcat.Minute, petcat.Day}).Draw(t, "window")
		near := rapid.Int64Range(-1e6, 1e6)
		far := rapid.Int64Range(math.MinInt64/4, math.MaxInt64/4)
		unix := rapid.OneOf(near, far).Draw(t, "unix")
		i := w.Index(unix)
		begin, end := w.Reset(i-1), w.Reset(i)
		if unix < begin || unix >= end || end-begin != w.Seconds() {
			t.Fatalf("second %d is in the %s from %d to %d", unix, w, begin, end)
		}
		if w.Index(begin) != i || w.Index(end-1) != i || w.Index(end) != i+1 || w.Index(begin-1) != i-1 {
			t.Fatalf("the %s %d does not meet its neighbours", w, i)
		}
		if unix < -1e11 || unix > 1e11 {
			return // beyond the calendar
		}
		at := time.Unix(unix, 0).UTC()
		want := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
		if w == petcat.Day {
			want = time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		}
		if begin != want.Unix() {
			t.Fatalf("the %s of %s begins at %d, want %d", w, at, begin, want.Unix())
		}
	})
}

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		window petcat.Window
		name   string
		length time.Duration
		reset  time.Time
	}{
		{petcat.Minute, "minute", time.Minute, noon.Add(time.Minute)},
		{petcat.Day, "day", 24 * time.Hour, noon.Add(12 * time.Hour)},
	} {
		w := c.window
		if w.String() != c.name || w.Length() != c.length || w.Seconds() != int64(c.length.Seconds()) {
			t.Errorf("%s: %s, %d s", w, w.Length(), w.Seconds())
		}
		if got := w.Reset(w.Index(noon.Unix())); got != c.reset.Unix() {
			t.Errorf("%s: reset %d, want %d", w, got, c.reset.Unix())
		}
	}
}

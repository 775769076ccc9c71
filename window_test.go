package petcat_test

import (
	"math"
	"testing"
	"time"

	"petcat"
)

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

// TestEverySecondLiesInOneWindow, also before the epoch and far from today.
func TestEverySecondLiesInOneWindow(t *testing.T) {
	for _, w := range []petcat.Window{petcat.Minute, petcat.Day} {
		for _, around := range []int64{0, noon.Unix(), -noon.Unix(), math.MaxInt64 / 4, math.MinInt64 / 4} {
			for unix := around - 90_000; unix < around+90_000; unix += 7 {
				i := w.Index(unix)
				begin, end := w.Reset(i-1), w.Reset(i)
				if unix < begin || unix >= end || end-begin != w.Seconds() || w.Index(begin) != i || w.Index(end) != i+1 {
					t.Fatalf("second %d is in the %s from %d to %d", unix, w, begin, end)
				}
			}
		}
	}
}

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/clock"
)

// TestProgress: a bar on a terminal, lines elsewhere, and neither too often.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		show     bool
		want     string
	}{
		{"terminal", true, true, "\r[############............]  50%, 512 of 1,024 rows copied, 51/s, 10s left\x1b[K" +
			"\r[########################] 100%, 1,024 of 1,024 rows copied, 51/s, 0s left\x1b[K\r\x1b[K"},
		{"elsewhere", false, true, " 50%, 512 of 1,024 rows copied, 51/s, 10s left\n100%, 1,024 of 1,024 rows copied, 51/s, 0s left\n"},
		{"nobody", true, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var shown strings.Builder
			wall := clock.NewManual(time.Unix(0, 0))
			p := &program{stderr: &shown, clock: wall, isTerminal: func(any) bool { return c.terminal }}
			bar := p.newProgress("copied", c.show)
			bar.begin(1_024)
			for n := range 1_024 {
				if n%512 == 511 {
					wall.Advance(10 * time.Second)
				}
				bar.step()
			}
			bar.end()
			if diff := cmp.Diff(c.want, shown.String()); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProgressOfSlowRows: who waits sees it move even while no row is done, and what is
// said meanwhile stands on a line of its own.
func TestProgressOfSlowRows(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		total    int64
		want     string
	}{
		{"terminal", true, 10, "\r[........................]   0%, 0 of 10 rows created, 0/s, ? left, waiting\x1b[K" +
			"\r\x1b[Kline 7 is bad\\x1b\n\r[##......................]  10%, 1 of 10 rows created, 5/s, 2s left, waiting\x1b[K\r\x1b[K"},
		{"terminal, of nobody knows how many", true, unknownTotal, "\r0 rows created, 0/s, waiting\x1b[K" +
			"\r\x1b[Kline 7 is bad\\x1b\n\r1 row created, 5/s, waiting\x1b[K\r\x1b[K"},
		{"elsewhere", false, 10, "line 7 is bad\\x1b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown strings.Builder
				p := &program{stderr: &shown, clock: clock.NewSystem(), isTerminal: func(any) bool { return c.terminal }}
				bar := p.newProgress("created", true)
				bar.note = func() string { return ", waiting" }
				bar.begin(c.total)
				stop := bar.watch()
				time.Sleep(150 * time.Millisecond)
				bar.say("line 7 is bad\x1b")
				bar.step()
				time.Sleep(100 * time.Millisecond)
				stop()
				bar.end()
				if diff := cmp.Diff(c.want, shown.String()); diff != "" {
					t.Errorf("shown (-want +got):\n%s", diff)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		p := &program{stderr: &shown, clock: clock.NewSystem(), isTerminal: func(any) bool { return false }}
		bar := p.newProgress("created", true)
		bar.begin(10)
		stop := bar.watch()
		time.Sleep(11 * time.Second)
		stop()
		if n := strings.Count(shown.String(), "\n"); n != 2 {
			t.Errorf("in 11 seconds it says %q", shown.String())
		}
	})
}

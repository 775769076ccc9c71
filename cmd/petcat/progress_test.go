package main

import (
	"strings"
	"testing"
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

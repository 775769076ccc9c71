package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/clock"
)

// TestProgress: a line that is redrawn on a terminal, lines elsewhere, and neither too often.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name           string
		terminal, show bool
		want           string
	}{
		{"terminal", true, true, "\r\x1b[?7l7 rows, 70/s\x1b[K\x1b[?7h" + "\r\x1b[Kline 3 is bad\n"},
		{"elsewhere", false, true, "line 3 is bad\n7 rows, 1/s\n"},
		{"nobody", true, false, "line 3 is bad\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown strings.Builder
				p := &program{stderr: &shown, clock: clock.NewSystem(), isTerminal: func(any) bool { return c.terminal }}
				bar, stop := p.startProgress(c.show, func(done int64, perSecond float64) string {
					return fmt.Sprintf("%d rows, %.0f/s", done, perSecond)
				})
				bar.done.Add(7)
				time.Sleep(drawEvery)
				synctest.Wait()
				bar.say("line 3 is bad")
				if !c.terminal {
					time.Sleep(sayEvery - drawEvery)
					synctest.Wait()
				}
				stop()
				if diff := cmp.Diff(c.want, shown.String()); diff != "" {
					t.Errorf("shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}

package backupschedule

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"petcat/internal/clock"
)

// TestPace: work has a twentieth of the time, and who stops waits for no rest.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := clock.NewManual(time.Now()) // in virtual time work takes none
		p := newPace(work)
		begun := time.Now()
		const steps, each = 1000, time.Millisecond
		for range steps {
			work.Advance(each)
			if _, err := p.rest(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if rested := time.Since(begun); rested != restFactor*steps*each {
			t.Errorf("%s of work rested for %s", steps*each, rested)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		work.Advance(time.Hour)
		begun = time.Now()
		if _, err := p.rest(ctx); err == nil || time.Since(begun) > 0 {
			t.Errorf("who stopped waited for %s, %v", time.Since(begun), err)
		}
	})
}

// TestVerify: a file that was cut or altered is refused.
func TestVerify(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		folder := t.TempDir()
		d.start("a", folder, time.Hour, 1)
		time.Sleep(time.Minute)
		path := filepath.Join(folder, wantFiles(t, "a good one", folder, 1)[0])
		content, err := os.ReadFile(path)
		whole := string(must(d.t, content, err))
		for name, text := range map[string]string{
			"cut":       whole[:len(whole)-1],
			"altered":   whole[:len(whole)-40] + "x" + whole[len(whole)-39:],
			"another's": "PK" + whole[2:],
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				d.t.Fatal(err)
			}
			if err := verify(path, func() error { return nil }); err == nil || !strings.Contains(err.Error(), "the backup is") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

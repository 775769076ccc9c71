package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"petcat"
)

// TestDiskFull: without room nothing is acknowledged, everything else goes on,
// and as soon as there is room again, so do creates.
func TestDiskFull(t *testing.T) {
	volume := disk(t, 8<<20)
	data := filepath.Join(volume, "data")
	s := serve(t, data)
	key := newCaller(t, data)
	known := newLedger()
	description := strings.Repeat("d", 5_000)
	sent := 0
	create := func() *answer {
		t.Helper()
		sent++
		name := "pet " + strconv.Itoa(sent)
		known.send(name)
		a := s.do(http.MethodPost, "/v1/categories", `{"name":"`+name+`","description":"`+description+`"}`, withKey(key))
		if a.StatusCode == http.StatusCreated {
			known.acknowledge(a.category(t))
		}
		return a
	}
	for range 20 {
		wantStatus(t, create(), http.StatusCreated)
	}
	for round := range 2 {
		ballast := fill(t, volume)
		refused := create()
		for n := 0; refused.StatusCode == http.StatusCreated && n < 2000; n++ {
			refused = create() // what room is left, the log of writes has already
		}
		for range 10 {
			wantError(t, refused, http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
			refused = create()
			if acked, _ := known.acknowledged(); len(s.categories(key)) < acked {
				t.Fatal("the list lacks what was acknowledged")
			}
		}
		code, _, said := petcatRuns(t, "account", "create", "during"+strconv.Itoa(round), "--plan", "free", "--data", data)
		if code != exitTryLater || !strings.Contains(said, "free some space") || strings.Contains(said, "Idempotency") {
			t.Errorf("a command ended with %d: %s", code, said)
		}
		if free := s.metric("petcat_store_free_bytes"); free > 64<<10 {
			t.Errorf("%v bytes are said to be free", free)
		}
		if status, body := s.ask("/readyz"); status != http.StatusOK {
			t.Errorf("/readyz answers %d %s: lists would not be asked for any more", status, body)
		}
		// Reading and refusing need no room, and nor do callers that nobody
		// remembers yet.
		wantError(t, s.do(http.MethodGet, "/v1/categories", ""), http.StatusUnauthorized, petcat.CodeMissingAPIKey)

		must(t, os.Remove(ballast))
		eventually(t, 10*time.Second, "creates work again", func() bool { return create().StatusCode == http.StatusCreated })
		eventually(t, 10*time.Second, "the store is available again: day counts are saved", func() bool {
			return s.metric("petcat_limiter_degraded") == 0 && s.metric("petcat_store_up") == 1
		})
		known.check(s.categories(key))
		if v := known.verdict(); v != (verdict{}) {
			t.Fatalf("round %d: %s", round, v)
		}
	}
	acked, _ := known.acknowledged()
	t.Logf("%d creates sent, %d acknowledged", sent, acked)
	fill(t, volume)
	s.kill()
	if code, said := serveFails(t, data); code != exitTryLater || !strings.Contains(said[0], "free some space") {
		t.Errorf("a start without room ended with %d: %s", code, said)
	}
	must(t, os.Remove(filepath.Join(volume, "ballast")))
	s = serve(t, data)
	known.check(s.categories(key))
	if v := known.verdict(); v != (verdict{}) {
		t.Errorf("after a kill: %s", v)
	}
}

// fill takes all the room that a disk has left, again if it is called again.
func fill(t *testing.T, volume string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(volume, "ballast")
	f, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(t, err)
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else {
			must(t, err)
		}
	}
	return ballast
}

// TestDiskFullIsToldWithoutTraffic: a server that nobody sends requests knows that
// its disk is full, and that it is no longer.
func TestDiskFullIsToldWithoutTraffic(t *testing.T) {
	t.Parallel()
	const notice = 5 * time.Second // it checks each second
	volume := disk(t, 8<<20)
	s := serve(t, filepath.Join(volume, "data"))
	for range 2 {
		s.tells("room", "store", true, notice)
		ballast := fill(t, volume)
		s.tells("a full disk", "store", false, notice)
		s.tells("a full disk", "limiter", false, notice)
		must(t, os.Remove(ballast))
	}
	s.tells("room again", "limiter", true, notice)
	s.mustStop()
}

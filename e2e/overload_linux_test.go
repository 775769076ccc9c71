package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"petcat/internal/disktest"
	"petcat/internal/tooltest"
)

// slowSync is how long the disk of [TestOverload] takes for a sync: it bounds what the
// store can take, so that those who send fit on the same machine: at four times as much they
// and the server use a quarter of two processors. HealthWithin is how soon health is told,
// without waiting for the disk.
const (
	slowSync     = 300 * time.Millisecond
	healthWithin = 100 * time.Millisecond
)

// overload is a server whose disk is slow, and what is offered to it.
type overload struct {
	t      *testing.T
	s      *server
	client *http.Client
	number atomic.Int64 // of the last create
}

// offered is what became of an account's creates.
type offered struct {
	end time.Time // of the load

	mu                     sync.Mutex
	sent, created, refused int             // guarded by mu
	inTime                 int             // of created: answered before the end; guarded by mu
	wrong                  []string        // guarded by mu; other answers
	refusal                []time.Duration // guarded by mu; how long refusals took
	answer                 []time.Duration // guarded by mu; how long it took to create
}

// meekShare is what each of the other accounts offers, of what the store can take, and
// answeredWithin is how soon 99 in 100 of its creates are answered, as docs/reliability.md
// says: the queue holds a second's worth, then there are two commits, and the log may be
// moved into the database meanwhile.
const (
	meekShare      = 0.05
	answeredWithin = 3 * time.Second
)

func newOverload(t *testing.T) *overload {
	t.Helper()
	tooltest.NeedServer(t)
	disk, dir := disktest.New(1<<30), t.TempDir()
	disk.Fail(func(o disktest.Op) syscall.Errno {
		if o.Kind == disktest.Sync && o.File == "petcat.db-wal" {
			time.Sleep(slowSync)
		}
		return 0
	})
	unmount := mountDisk(t, disk, dir)
	x := &overload{t: t, client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConns: 8192, MaxIdleConnsPerHost: 8192}}}
	t.Cleanup(func() {
		x.client.CloseIdleConnections()
		eventually(t, 5*time.Second, "nobody uses the disk", func() bool { return unmount() == nil })
	})
	x.s = serve(t, filepath.Join(dir, "data"))
	return x
}

// create sends a create, and tells an account's tally what came of it.
func (x *overload) create(key string, o *offered) {
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, x.s.api+"/v1/categories", strings.NewReader(categoryBody(fmt.Sprint("c", x.number.Add(1)))))
	must(x.t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	res, err := x.client.Do(req)
	took := time.Since(begin)
	status, wait := 0, ""
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		status, wait = res.StatusCode, res.Header.Get("Retry-After")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent++
	switch {
	case status == http.StatusCreated:
		o.created++
		o.answer = append(o.answer, took)
		if begin.Add(took).Before(o.end) {
			o.inTime++
		}
	case status == http.StatusServiceUnavailable && wait != "":
		o.refused++
		o.refusal = append(o.refusal, took)
	default:
		o.wrong = append(o.wrong, fmt.Sprintf("%d, Retry-After %q, %v", status, wait, err))
	}
}

// offer sends creates at a rate, whether they are answered or not, for a time. It returns
// when all are answered.
func (x *overload) offer(key string, perSecond float64, lasts time.Duration, o *offered) {
	var all sync.WaitGroup
	defer all.Wait()
	begin := time.Now()
	for sent := 0.0; ; {
		passed := time.Since(begin)
		if passed > lasts {
			return
		}
		for ; sent < passed.Seconds()*perSecond; sent++ {
			all.Go(func() { x.create(key, o) })
		}
		lapse(2 * time.Millisecond)
	}
}

// peak returns how many creates a second the store takes from clients that wait for their
// answers.
func (x *overload) peak(key string) float64 {
	const clients, lasts = 512, 3 * time.Second
	o := offered{end: time.Now().Add(lasts)}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for time.Now().Before(o.end) {
				x.create(key, &o)
			}
		})
	}
	all.Wait()
	if len(o.wrong) > 0 {
		x.t.Errorf("%d other answers, such as %s", len(o.wrong), o.wrong[0])
	}
	return float64(o.inTime) / lasts.Seconds()
}

// TestOverload: at four times what the store can take, it takes as much as before, and the
// rest is told at once to come back later. An account that floods takes nothing from the
// others, which together offer a fifth of what the store can take: all of theirs is created,
// in time. Health is told in time, and soon after the flood nothing is left of it.
func TestOverload(t *testing.T) {
	x := newOverload(t)
	keys := make([]string, 5)
	for i := range keys {
		name := fmt.Sprint("account", i)
		openAccount(t, x.s.data, name, unlimited...)
		_, keys[i] = issueKey(t, x.s.data, name)
	}
	lapse(heardWithin)
	x.peak(keys[0]) // the pace is known from here on
	x.s.control().Try("a flood", func() (late string) { return x.flood(keys[0], keys[1:]) })
	x.s.mustStop()
}

// flood floods the server, and returns what was late.
func (x *overload) flood(flood string, others []string) (late string) {
	x.t.Helper()
	// This process has what all tests before have left, and to collect it takes longer than a
	// refusal may.
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	peak, logged, shedBefore := x.peak(flood), len(x.refusals()), x.s.metric("petcat_store_shed_total")

	const lasts = 6 * time.Second
	over := time.Now().Add(lasts)
	flooded, meek := offered{end: over}, make([]offered, len(others))
	for i := range meek {
		meek[i].end = over
	}
	var all sync.WaitGroup
	all.Go(func() { x.offer(flood, 4*peak, lasts, &flooded) })
	for i, key := range others {
		all.Go(func() { x.offer(key, meekShare*peak, lasts, &meek[i]) })
	}
	slowestHealth := x.watchHealth()
	lapse(time.Until(over))
	eventually(x.t, 10*time.Second, "the queue is empty", func() bool { return x.s.metric("petcat_store_queue") == 0 })
	var after offered
	x.create(flood, &after)
	recovered := time.Since(over)
	all.Wait()
	health := slowestHealth()

	if each := x.s.metric("petcat_commit_duration_seconds_sum") / x.s.metric("petcat_commit_duration_seconds_count"); each < slowSync.Seconds() {
		x.t.Errorf("the metrics say that a commit took %v s; a sync alone takes %s", each, slowSync)
	}
	if shed := x.s.metric("petcat_store_shed_total") - shedBefore; shed != float64(flooded.refused) {
		x.t.Errorf("the metrics say that %v creates were refused; there were %d", shed, flooded.refused)
	}
	goodput, answers := float64(flooded.inTime), []time.Duration(nil)
	for i := range meek {
		goodput += float64(meek[i].inTime)
		answers = append(answers, meek[i].answer...)
	}
	goodput /= lasts.Seconds()
	answered := percentile(answers, 99)
	served, p99 := x.refusals()[logged:], percentile(flooded.refusal, 99)
	x.t.Logf("the store takes %.0f creates a second; of %.0f that were offered it took %.0f (%.2f); refusals took %s (median), %s (99 in 100), of which the server %s; %d creates of others were answered within %s (99 in 100); a create was answered %s after the flood; health was told within %s",
		peak, float64(flooded.sent)/lasts.Seconds(), goodput, goodput/peak, percentile(flooded.refusal, 50).Round(time.Microsecond), p99.Round(time.Microsecond), percentile(served, 99), len(answers), answered.Round(time.Millisecond), recovered.Round(time.Millisecond), health.Round(time.Microsecond))
	if flooded.refused < flooded.sent/2 {
		x.t.Errorf("this was no flood: %d of %d were refused", flooded.refused, flooded.sent)
	}
	for i := range meek {
		if o := &meek[i]; o.created != o.sent || o.sent == 0 {
			x.t.Errorf("another account: %d of %d were created, %d refused", o.created, o.sent, o.refused)
		}
	}
	if len(flooded.wrong) > 0 {
		x.t.Errorf("%d other answers, such as %s", len(flooded.wrong), flooded.wrong[0])
	}
	if after.created != 1 {
		x.t.Errorf("after the flood a create was answered: %+v", after.wrong)
	}
	most := percentile(served, 99)
	switch {
	case goodput < 0.85*peak:
		return fmt.Sprintf("goodput %.0f is below 0.85 of %.0f", goodput, peak)
	case p99 > 10*time.Millisecond || most > 10*time.Millisecond:
		return fmt.Sprintf("refusals took clients up to %s, and the server up to %s (99 in 100)", p99, most)
	case answered > answeredWithin:
		return fmt.Sprintf("the others' creates took up to %s (99 in 100)", answered)
	case recovered > 2*time.Second:
		return fmt.Sprintf("a create was answered %s after the flood", recovered)
	case health > healthWithin:
		return fmt.Sprintf("health was told after %s", health)
	}
	return ""
}

// refusals returns how long the server took for its refusals of creates.
func (x *overload) refusals() (took []time.Duration) {
	for line := range strings.Lines(x.s.log.String()) {
		var entry struct {
			Method     string
			Status     int
			DurationUS int64 `json:"duration_us"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Method == http.MethodPost && entry.Status == http.StatusServiceUnavailable {
			took = append(took, time.Duration(entry.DurationUS)*time.Microsecond)
		}
	}
	return took
}

// watchHealth asks all the time how the server is, until stop is called, which returns how
// long an answer took at most.
func (x *overload) watchHealth() (stop func() (slowest time.Duration)) {
	var slowest time.Duration
	end := stream(1, 100*time.Millisecond, func(*rand.Rand) {
		for _, path := range []string{"/livez", "/readyz"} {
			begin := time.Now()
			status, body, err := ask(x.s.admin + path)
			if err != nil || status != http.StatusOK {
				x.t.Errorf("%s: %d %s %v after %s", path, status, body, err, time.Since(begin))
			}
			slowest = max(slowest, time.Since(begin))
		}
	})
	return func() time.Duration { end(); return slowest }
}

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	rules "github.com/petcat-api/petcat"
	client "github.com/petcat-api/petcat/client"
)

// inbox is a receiver of events, which checks their signatures. It keeps the first message of each event.
type inbox struct {
	*httptest.Server

	secret atomic.Value  // string
	held   chan struct{} // receives one value for each message that is held back
	hold   atomic.Bool

	mu     sync.Mutex
	bodies map[string]string // by webhook-id; guarded by mu
	ids    []int64           // of events, in the order of their first messages; guarded by mu
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{held: make(chan struct{}, 100), bodies: map[string]string{}}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the node was killed
		}
		if in.hold.Load() {
			in.held <- struct{}{}
			<-r.Context().Done() // no response
			return
		}
		e, err := client.VerifyWebhook(in.secret.Load().(string), r.Header, body)
		if err != nil {
			t.Errorf("message %s: %v", body, err)
		}
		in.keep(t, r.Header.Get("webhook-id"), e, string(body))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) keep(t *testing.T, id string, e client.Event, body string) {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	if before, again := in.bodies[id]; again {
		if before != body {
			t.Errorf("message %s is %s and %s", id, before, body)
		}
		return
	}
	in.bodies[id] = body
	in.ids = append(in.ids, e.ID)
}

// got returns the ids of the events, in the order in which they came.
func (in *inbox) got() []int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]int64{}, in.ids...)
}

// toLoopback are the flags that allow the receivers of the tests.
var toLoopback = []string{"--webhook-allow", "127.0.0.0/8"}

// TestEventsAfterKills: every event arrives at least once with one id, in the order of events, although the
// node is killed between the commit and the delivery, and although events are written while no node runs.
func TestEventsAfterKills(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		in := newInbox(t)
		petcat(t, place, "init")
		petcat(t, place, "account", "create", "acme", "--plan", "free")
		hook := petcatJSON[struct{ Secret string }](t, place, append([]string{"webhook", "create", in.URL}, toLoopback...)...)
		in.secret.Store(hook.Secret)
		written := 0
		write := func() {
			written++
			petcat(t, place, "key", "create", "acme")
		}
		for range 2 {
			in.hold.Store(true)
			n := serve(t, place, toLoopback...)
			write()
			<-in.held // it is committed, and being delivered
			n.kill()
			write()
			in.hold.Store(false)
			n = serve(t, place, toLoopback...)
			write()
			eventually(t, "the events arrive", func() bool { return len(in.got()) >= written })
			n.stop()
		}
		for i, id := range in.got() {
			if id != int64(i+1) {
				t.Fatalf("the events came in the order %d, want 1 to %d", in.got(), written)
			}
		}
	})
}

// TestQuotaWarning: senders to three nodes use up a daily quota. Operators are notified once of 80 %, of
// 95 % and of all of it.
func TestQuotaWarning(t *testing.T) {
	t.Parallel()
	const quota, senders = 100, 8
	place := database(t)
	k := newKey(t, place, "acme", limited("1000000", fmt.Sprint(quota))...)
	nodes := serveAll(t, 3, place, "--bans", "off")
	atOnce(senders, func(i int) {
		for n := i; ; n++ { // until all of a day is used, also after midnight
			a := nodes[n%len(nodes)].list(k.Key)
			if a.StatusCode != http.StatusOK {
				a.wantError(t, http.StatusTooManyRequests, rules.CodeDailyQuotaExceeded)
				return
			}
		}
	})
	for _, n := range nodes {
		n.stop() // writes what was noted
	}
	type event struct {
		Type string
		Data json.RawMessage
	}
	told := map[string]int{}
	for _, e := range petcatJSON[[]event](t, place, "event", "list") {
		var data struct {
			Percent  int
			ResetsAt string `json:"resets_at"`
		}
		must(t, json.Unmarshal(e.Data, &data))
		if data.Percent != 0 {
			told[fmt.Sprint(e.Type, " ", data.Percent, " until ", data.ResetsAt)]++
		}
	}
	for mark, times := range told {
		if times != 1 {
			t.Errorf("%s: told %d times, want once", mark, times)
		}
	}
	if len(told) < 3 {
		t.Errorf("told of %v, want of 80, 95 and 100", told)
	}
}

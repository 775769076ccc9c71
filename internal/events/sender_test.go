package events_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/events"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

const operator petcat.Actor = "cli:ada"

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func wantEqual[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// loopback is where the receivers of the tests are.
func loopback() petcat.WebhookNetworks {
	return petcat.WebhookNetworks{netip.MustParsePrefix("127.0.0.0/8")}
}

// fixture is a sender with its store.
type fixture struct {
	*events.Sender

	store *store.Store
	clock *clocktest.Manual
	log   bytes.Buffer
}

func start(t *testing.T, networks petcat.WebhookNetworks) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.NewManual(noon)}
	db := must(sqlite.Open(t.Context(), sqlite.Options{
		Dir:   must(datadir.Open(t.TempDir(), true)),
		Clock: f.clock,
	}))
	t.Cleanup(func() { must(0, db.Close()) })
	f.store = store.New(db, f.clock)
	f.Sender = events.NewSender(events.Options{
		Store:    f.store,
		Networks: networks,
		Dataset:  "DATA",
		Body:     func(e petcat.Event) ([]byte, error) { return []byte(e.Data), nil },
		Alone:    func(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) },
		Clock:    f.clock,
		Logger:   slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	t.Cleanup(f.Close)
	return f
}

// webhook makes a webhook to a receiver.
func (f *fixture) webhook(t *testing.T, to string, types ...string) petcat.WebhookID {
	t.Helper()
	n := must(petcat.ParseNewWebhook(to+"/path?token=hidden", types, loopback()))
	secret := petcat.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	return must(f.store.CreateWebhook(t.Context(), petcat.By(operator), n, secret)).Value.ID
}

// tell writes n events.
func (f *fixture) emit(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		must(0, f.store.NoteFailedBackup(t.Context(), fmt.Sprint("host ", i)))
	}
}

// wantState checks a webhook's state and its number of waiting events.
func (f *fixture) wantState(t *testing.T, id petcat.WebhookID, state string, cursor petcat.EventID) {
	t.Helper()
	w := must(f.store.FindWebhook(t.Context(), id))
	if w.State() != state || w.Cursor != cursor {
		t.Fatalf("the webhook is %s at event %d, want %s at %d\n%s", w.State(), w.Cursor, state, cursor, &f.log)
	}
}

// receiver keeps the ids of the messages that it gets. respond, if not nil, handles the nth request.
type receiver struct {
	*httptest.Server

	respond func(n int, w http.ResponseWriter)

	mu  sync.Mutex
	ids []string // guarded by mu
}

func receive(t *testing.T, respond func(n int, w http.ResponseWriter)) *receiver {
	t.Helper()
	r := &receiver{respond: respond}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		r.mu.Lock()
		r.ids = append(r.ids, q.Header.Get("webhook-id"))
		n := len(r.ids)
		r.mu.Unlock()
		if r.respond != nil {
			r.respond(n, w)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// got returns the ids of all messages.
func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.ids...)
}

// messages returns the ids of the messages about some events of noon.
func messages(ids ...int) []string {
	all := []string{}
	for _, id := range ids {
		all = append(all, fmt.Sprintf("evt_DATA_%d_%d", id, noon.UnixMilli()))
	}
	return all
}

// TestOrder: events are sent once each, in their order. Those that a webhook excludes are skipped.
func TestOrder(t *testing.T) {
	f := start(t, loopback())
	all, some := receive(t, nil), receive(t, nil)
	first := f.webhook(t, all.URL)
	second := f.webhook(t, some.URL, "quota.warning")
	f.emit(t, 2)
	must(0, f.store.NoteQuotaMark(t.Context(), petcat.QuotaMark{Account: 1, Percent: 80}))
	f.emit(t, 1)
	must(f.store.TestWebhook(t.Context(), petcat.By(operator), second))
	for range 3 {
		must(0, f.Check(t.Context()))
	}
	wantEqual(t, "messages of all types", messages(1, 2, 3, 4), all.got())
	wantEqual(t, "messages of one type, and a test", messages(3, 5), some.got())
	f.wantState(t, first, "enabled", 5)
	f.wantState(t, second, "enabled", 5)
	wantEqual(t, "deliveries", 6, f.Delivered.Load())
}

// TestReusedNumber: after a failover to a standby that lacked an event, another event gets its number. A
// receiver must not take it for a repetition.
func TestReusedNumber(t *testing.T) {
	f := start(t, loopback())
	r := receive(t, nil)
	f.webhook(t, r.URL)
	for range 2 {
		f.emit(t, 1)
		must(0, f.Check(t.Context()))
		for _, statement := range []string{
			"DELETE FROM events",
			"UPDATE counter SET event_id = 0",
			"UPDATE webhooks SET cursor_id = 0",
		} {
			must(f.store.Exec(t.Context(), "lose the event", statement))
		}
		f.clock.Advance(time.Second)
	}
	if got := r.got(); len(got) != 2 || got[0] == got[1] {
		t.Errorf("messages %q, want two", got)
	}
}

// TestFailingReceiver: an event is sent with the same id until the receiver has it, on the schedule. The
// events after it wait.
func TestFailingReceiver(t *testing.T) {
	f := start(t, loopback())
	r := receive(t, func(n int, w http.ResponseWriter) {
		if n <= 5 {
			w.Header().Set("Location", "/elsewhere") // redirects are not followed
			w.WriteHeader([]int{500, 302, 404, 100 + 399, 307}[n-1])
			_, _ = io.WriteString(w, "not\x00now")
		}
	})
	id := f.webhook(t, r.URL)
	f.emit(t, 2)
	must(0, f.Check(t.Context()))
	for i, pause := range petcat.WebhookRetries()[:5] {
		wantEqual(t, "attempts", i+1, len(r.got()))
		f.wantState(t, id, "failing", 0)
		f.clock.Advance(pause - 1)
		must(0, f.Check(t.Context()))
		wantEqual(t, "attempts before the pause is over", i+1, len(r.got()))
		f.clock.Advance(1)
		must(0, f.Check(t.Context()))
	}
	wantEqual(t, "messages", messages(1, 1, 1, 1, 1, 1, 2), r.got())
	f.wantState(t, id, "enabled", 2)
	deliveries := must(f.store.Deliveries(t.Context(), id))
	wantEqual(t, "the first delivery", petcat.Delivery{
		Event:    1,
		Type:     petcat.EventBackupFailed,
		Attempt:  1,
		At:       noon,
		Status:   500,
		Response: "not now",
	}, deliveries[len(deliveries)-1])
	if said := f.log.String(); strings.Contains(said, "hidden") || !strings.Contains(said, "host=127.0.0.1:") {
		t.Errorf("the log has the query, or lacks the host: %s", said)
	}
}

// TestDisabled: after 410 and after the last attempt, events are held until an operator enables the
// webhook. Then the events since are sent.
func TestDisabled(t *testing.T) {
	for name, c := range map[string]struct{ status, attempts int }{
		"410":                {http.StatusGone, 1},
		"after all attempts": {http.StatusInternalServerError, len(petcat.WebhookRetries()) + 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, loopback())
			r := receive(t, func(n int, w http.ResponseWriter) {
				if n <= c.attempts {
					w.WriteHeader(c.status)
				}
			})
			id := f.webhook(t, r.URL)
			f.emit(t, 2)
			for range 12 {
				must(0, f.Check(t.Context()))
				f.clock.Advance(24 * time.Hour)
			}
			wantEqual(t, "attempts", c.attempts, len(r.got()))
			f.wantState(t, id, "disabled", 0)
			wantEqual(t, "disabled webhooks", 1, f.Disabled.Load())
			must(f.store.ChangeWebhook(t.Context(), petcat.By(operator), id, petcat.EnableWebhook))
			must(0, f.Check(t.Context()))
			wantEqual(t, "messages", messages(1, 2), r.got()[c.attempts:])
			must(0, f.Check(t.Context()))
			wantEqual(t, "disabled webhooks", 0, f.Disabled.Load())
		})
	}
}

// TestRestartedReceiver: a receiver that is away gets its events when it is back.
func TestRestartedReceiver(t *testing.T) {
	f := start(t, loopback())
	r := receive(t, nil)
	id := f.webhook(t, r.URL)
	f.emit(t, 1)
	must(0, f.Check(t.Context()))
	address := r.Listener.Addr().String()
	r.Close()
	f.emit(t, 1)
	must(0, f.Check(t.Context()))
	f.wantState(t, id, "failing", 1)
	back := httptest.NewUnstartedServer(r.Config.Handler)
	must(0, back.Listener.Close())
	back.Listener = must((&net.ListenConfig{}).Listen(t.Context(), "tcp", address))
	back.Start()
	defer back.Close()
	f.clock.Advance(5 * time.Second)
	must(0, f.Check(t.Context()))
	wantEqual(t, "messages", messages(1, 2), r.got())
}

// TestHangingReceiver: while a receiver hangs, another gets 1,000 events, and the events that are
// written in that time. The hanging one has one request.
func TestHangingReceiver(t *testing.T) {
	const count = 1_000
	f := start(t, loopback())
	held, reached := make(chan struct{}), make(chan struct{}, 2)
	release := sync.OnceFunc(func() { close(held) })
	defer release() // also after a failed check, or the receiver would hang
	slow := receive(t, func(n int, _ http.ResponseWriter) {
		if n == 1 {
			<-held
		}
	})
	fast := receive(t, func(n int, _ http.ResponseWriter) {
		if n == count || n == count+1 {
			reached <- struct{}{}
		}
	})
	id := f.webhook(t, slow.URL)
	f.webhook(t, fast.URL)
	f.emit(t, count)
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		must(0, f.Check(t.Context()))
	}()
	<-reached
	f.emit(t, 1)
	<-reached
	wantEqual(t, "messages of the hanging receiver", messages(1), slow.got())
	f.wantState(t, id, "enabled", 0)
	release()
	<-checked
	must(0, f.Check(t.Context()))
	wantEqual(t, "messages of the other", count+1, len(fast.got()))
	wantEqual(t, "messages of the first at last", fast.got(), slow.got())
}

// TestTimeout: a delivery without a response in time has failed.
func TestTimeout(t *testing.T) {
	f := start(t, loopback())
	release := make(chan struct{})
	r := receive(t, func(int, http.ResponseWriter) { <-release })
	defer close(release)
	o := f.Options
	o.Timeout = time.Millisecond
	impatient := events.NewSender(o)
	defer impatient.Close()
	id := f.webhook(t, r.URL)
	f.emit(t, 1)
	must(0, impatient.Check(t.Context()))
	f.wantState(t, id, "failing", 0)
	wantEqual(t, "the reason", "no response within 1ms", must(f.store.Deliveries(t.Context(), id))[0].Response)
}

// TestRefusedAddress: the address is checked after the resolution of the name.
func TestRefusedAddress(t *testing.T) {
	f := start(t, nil)
	r := receive(t, nil)
	_, port, _ := net.SplitHostPort(r.Listener.Addr().String())
	for scheme, reason := range map[string]string{
		"http":  "without TLS, events are only sent to the networks of --webhook-allow",
		"https": "is not a public address; allow its network with --webhook-allow",
	} {
		id := f.webhook(t, scheme+"://localhost:"+port)
		f.emit(t, 1)
		must(0, f.Check(t.Context()))
		f.wantState(t, id, "failing", must(f.store.NewestEvent(t.Context()))-1)
		response := must(f.store.Deliveries(t.Context(), id))[0].Response
		if !strings.Contains(response, reason) {
			t.Errorf("%s: the response is %q, want %q", scheme, response, reason)
		}
	}
	wantEqual(t, "messages", messages(), r.got())
}

// TestStopWhileSending: a node that stops leaves the event to the next one.
func TestStopWhileSending(t *testing.T) {
	f := start(t, loopback())
	ctx, stop := context.WithCancel(t.Context())
	r := receive(t, func(n int, _ http.ResponseWriter) {
		if n == 1 {
			stop()
		}
	})
	id := f.webhook(t, r.URL)
	f.emit(t, 1)
	_ = f.Check(ctx) // an error if it was interrupted
	if got := must(f.store.FindWebhook(t.Context(), id)).Attempts; got != 0 {
		t.Errorf("%d failed attempts, want none", got)
	}
	must(0, f.Check(t.Context()))
	f.wantState(t, id, "enabled", 1)
}

// marks is a mark store that can fail.
type marks struct {
	noted []petcat.QuotaMark
	fails bool
}

func (m *marks) NoteQuotaMark(_ context.Context, mark petcat.QuotaMark) error {
	if m.fails {
		return errors.New("the database is away")
	}
	m.noted = append(m.noted, mark)
	return nil
}

// TestMarks: each mark of a day is written once, after the database is back.
func TestMarks(t *testing.T) {
	s := &marks{fails: true}
	m := events.NewMarks(s)
	for used := range int64(1_100) {
		m.Note(1, 7, used+1, 1_000)
	}
	if m.Flush(t.Context()) == nil {
		t.Error("a failed flush reports nothing")
	}
	m.Note(2, 7, 99, 100)
	s.fails = false
	must(0, m.Flush(t.Context()))
	m.Note(1, 8, 800, 1_000)
	m.Forget(8)
	m.Note(1, 8, 801, 1_000)
	must(0, m.Flush(t.Context()))
	want := []petcat.QuotaMark{
		{Account: 1, Day: 7, Percent: 80, Used: 800, Limit: 1_000},
		{Account: 1, Day: 7, Percent: 95, Used: 950, Limit: 1_000},
		{Account: 1, Day: 7, Percent: 100, Used: 1_000, Limit: 1_000},
		{Account: 2, Day: 7, Percent: 95, Used: 99, Limit: 100},
		{Account: 1, Day: 8, Percent: 80, Used: 800, Limit: 1_000},
	}
	wantEqual(t, "marks", want, s.noted)
}

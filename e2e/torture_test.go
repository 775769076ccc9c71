package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat/internal/apicheck"
	"petcat/internal/stalltest"
)

// killsVariable asks for more kills than a quick look takes: make torture does.
const killsVariable = "PETCAT_TORTURE_KILLS"

// killsPerAccount keeps the day's quotas out of this: each kill may cost an
// account up to 1.5 of 200 blocks of its day.
const killsPerAccount = 50

// torture kills a server under load, again and again.
type torture struct {
	t      *testing.T
	data   string
	ledger *ledger
	random *rand.Rand
	server *server
	plain  *http.Client
	ready  []time.Duration

	control *stalltest.Control // of how soon it is ready
}

// torturer is one client that creates categories, one after the other. Every fourth it
// changes, and of those every third it deletes, when it has created another one.
type torturer struct {
	number int
	sent   int
	// owned is the last category that was created, by ownKey.
	owned  int64
	ownKey string
	// key of the account, name and idempotency key of a create that got no
	// answer and is to be repeated; "" for none.
	key, name, idempotency string
}

// TestTorture: whatever was acknowledged is there after a kill, changes and deletions
// included, no id stands for two categories, and a create that is repeated with its
// idempotency key until it is answered is there once.
func TestTorture(t *testing.T) {
	kills, writers := 10, make([]*torturer, 8)
	if more := os.Getenv(killsVariable); more != "" {
		var err error
		kills, err = strconv.Atoi(more)
		must(t, err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	x := &torture{
		t: t, data: filepath.Join(t.TempDir(), "data"), ledger: newLedger(),
		random: rand.New(rand.NewPCG(seed, 0)), plain: newListClient(t),
	}
	for i := range writers {
		writers[i] = &torturer{number: i}
	}
	x.control = stalltest.Start(t)
	x.start()
	var key string
	for i := range kills {
		if i%killsPerAccount == 0 {
			name := fmt.Sprintf("account%d", i)
			openAccount(t, x.data, name, "enterprise", "--per-minute", "1000000000000", "--per-day", "1000000000000")
			_, key = issueKey(t, x.data, name)
		}
		x.round(writers, key)
		x.start()
		x.ledger.check(x.list(key))
		if v := x.ledger.verdict(); v != (verdict{}) {
			t.Fatalf("after %d kills: %s", i+1, v)
		}
	}
	x.finish(writers, key)
	slices.Sort(x.ready)
	p99 := x.ready[(len(x.ready)*99+99)/100-1]
	acked, maybe := x.ledger.acknowledged()
	t.Logf("%d kills, %d creates and %d changes acknowledged, %d creates never answered: %s; ready again after %s (median), %s (p99), %s (slowest)",
		kills, acked, x.ledger.changes, maybe, x.ledger.verdict(), x.ready[len(x.ready)/2].Round(time.Millisecond), p99.Round(time.Millisecond), x.ready[len(x.ready)-1].Round(time.Millisecond))
	if acked < 10*kills {
		t.Errorf("only %d creates were acknowledged: this was no load", acked)
	}
}

// start starts the server and takes the time until it answers.
func (x *torture) start() {
	x.t.Helper()
	if x.server != nil {
		x.server.client.CloseIdleConnections()
	}
	x.control.Lap()
	x.server = serve(x.t, x.data)
	x.control.Judge("it is ready again", x.server.startup, 2*time.Second)
	x.ready = append(x.ready, x.server.startup)
}

// round lets all clients create until the server is killed.
func (x *torture) round(writers []*torturer, key string) {
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() {
			for x.changeOne(w) && x.createOne(w, key) {
			}
		})
	}
	delay := time.Duration(20+x.random.IntN(381)) * time.Millisecond
	time.AfterFunc(delay, x.server.kill)
	group.Wait()
	<-x.server.ended
}

// createOne creates one category, and reports whether it was answered. Clients
// with an even number use idempotency keys, and begin with the create that the
// last kill left unanswered.
func (x *torture) createOne(w *torturer, key string) bool {
	if w.name == "" {
		w.sent++
		w.key, w.name, w.idempotency = key, fmt.Sprintf("%d-%d", w.number, w.sent), ""
		if w.number%2 == 0 {
			w.idempotency = "torture-" + w.name
		}
		x.ledger.send(w.name)
	}
	changes := []request{withKey(w.key)}
	if w.idempotency != "" {
		changes = append(changes, withHeader("Idempotency-Key", w.idempotency))
	}
	a, err := x.server.try(http.MethodPost, x.server.api+"/v1/categories", strings.NewReader(categoryBody(w.name)), changes...)
	if err != nil {
		if w.idempotency == "" {
			w.name = "" // nobody will ever know
		}
		return false
	}
	if a.StatusCode != http.StatusCreated {
		x.t.Errorf("%s: %d %s", w.name, a.StatusCode, a.body)
		return false
	}
	var c category
	if err := json.Unmarshal(a.body, &c); err != nil || c.Name != w.name {
		x.t.Errorf("%s was answered with %s", w.name, a.body)
		return false
	}
	x.ledger.acknowledge(c)
	w.name = ""
	w.owned, w.ownKey = c.ID, w.key
	return true
}

// changeOne changes or deletes the client's last category, now and then, and reports
// whether it was answered.
func (x *torture) changeOne(w *torturer) bool {
	id := w.owned
	if id == 0 || w.sent%4 != 0 {
		return true
	}
	w.owned = 0
	method, name, body, status := http.MethodPatch, fmt.Sprintf("%d changed", id), "", http.StatusOK
	if w.sent%12 == 0 {
		method, name, status = http.MethodDelete, gone, http.StatusNoContent
	} else {
		body = categoryBody(name)
	}
	x.ledger.change(id, name)
	a, err := x.server.try(method, fmt.Sprintf("%s/v1/categories/%d", x.server.api, id), strings.NewReader(body), withKey(w.ownKey))
	if err != nil {
		return false
	}
	if a.StatusCode != status {
		x.t.Errorf("%s of %d: %d %s", method, id, a.StatusCode, a.body)
		return false
	}
	x.ledger.changed(id)
	return true
}

// finish repeats what is left unanswered, and ends in an orderly way.
func (x *torture) finish(writers []*torturer, key string) {
	x.t.Helper()
	for _, w := range writers {
		if w.name != "" && !x.createOne(w, key) {
			x.t.Errorf("%d could not repeat its last create", w.number)
		}
	}
	x.ledger.check(x.list(key))
	x.server.mustStop()
	x.start()
	x.ledger.check(x.list(key))
	x.server.mustStop()
	for name := range x.ledger.maybe {
		if number, _, _ := strings.Cut(name, "-"); (number[0]-'0')%2 == 0 {
			x.t.Errorf("%s was repeated and never answered", name)
		}
	}
	if v := x.ledger.verdict(); v != (verdict{}) {
		x.t.Errorf("in the end: %s", v)
	}
}

// list reads all categories.
func (x *torture) list(key string) []category {
	x.t.Helper()
	a, list := x.server.longList(x.plain, key)
	wantStatus(x.t, a, http.StatusOK)
	return list
}

// longList reads all categories with a plain client. There are up to hundreds of
// thousands, so the headers are checked and not the schema of each.
func (s *server) longList(plain *http.Client, key string) (a *answer, all []category) {
	s.t.Helper()
	if a = s.rawList(plain, key); a.StatusCode == http.StatusOK {
		must(s.t, json.Unmarshal(a.body, &all))
	}
	return a, all
}

// rawList is longList for who does not need all categories.
func (s *server) rawList(plain *http.Client, key string) *answer {
	s.t.Helper()
	sent := time.Now().Unix()
	a, err := (&server{client: plain}).try(http.MethodGet, s.api+"/v1/categories", nil, withKey(key))
	must(s.t, err)
	for _, problem := range apicheck.Problems(a.Response, a.body, sent, time.Now().Unix()) {
		s.t.Error(problem)
	}
	return a
}

func newListClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	faultpoint "petcat/internal/fault"
	"petcat/internal/redistest"
	"petcat/internal/stalltest"
)

// faultyProgram builds the program with its fault points, for the first who asks.
var faultyProgram = sync.OnceValues(func() (file string, err error) {
	file = programFile + "-faults"
	return file, build(file, "faults")
})

// faultDay is the day of an account in [TestFaults]. What was leased of it and not spent, a
// request at a time, may be lost.
const faultDay, faultLoss = 30, 1

// returnedWithin is when what a node has leased for itself, because its shared counters were
// late, and has given back since, can be spent.
const returnedWithin = 17 * time.Second

// faulty is an account's use of a node that fails at a fault point.
type faulty struct {
	*server
	key, day string // keys of two accounts: one creates, the other one spends its day
	ledger   *ledger
	open     []string // creates that were not acknowledged
	replayed int      // of them, those that were there all the same

	admitted, unanswered int // of the day
	forgotten            int // admitted, but not saved; see docs/limits.md
}

// serveWithFault starts a node that fails at a point.
func serveWithFault(t *testing.T, data string, point faultpoint.Point, action string, flags []string) *faulty {
	t.Helper()
	program, err := faultyProgram()
	must(t, err)
	openAccount(t, data, "acme", unlimited...)
	openAccount(t, data, "day", "enterprise", "--per-minute", "1000000", "--per-day", fmt.Sprint(faultDay))
	x := &faulty{server: newServer(t, data), ledger: newLedger()}
	_, x.key = issueKey(t, data, "acme")
	_, x.day = issueKey(t, data, "day")
	cmd := processOf(serveFlags("serve", data, flags)...)
	cmd.Path = program
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s=%s", faultpoint.Variable, point, action))
	x.launch(cmd)
	eventually(t, 20*time.Second, "the node is ready, or has failed by what it writes at its start", func() bool {
		at, listen, admin := x.log.ready()
		x.api, x.admin = "http://"+listen, admin
		return !at.IsZero() || x.hasEnded()
	})
	return x
}

// create creates a category, once more if it was not acknowledged, and reports whether
// it was now.
func (x *faulty) create(name string) bool {
	x.ledger.send(name)
	a, err := x.try(http.MethodPost, x.api+"/v1/categories", strings.NewReader(categoryBody(name)), withKey(x.key), withHeader("Idempotency-Key", name))
	switch {
	case err != nil, a.StatusCode == http.StatusServiceUnavailable:
		return false
	case a.StatusCode != http.StatusCreated:
		x.t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		return false
	case a.Header.Get("Idempotent-Replayed") == "true":
		x.replayed++
	}
	x.ledger.acknowledge(a.category(x.t))
	return true
}

// spend spends a request of the day, and reports whether the day is spent.
func (x *faulty) spend() bool {
	a, err := x.tryList(x.day)
	switch {
	case err != nil:
		x.unanswered++
	case a.StatusCode == http.StatusServiceUnavailable: // and not counted
	case a.StatusCode == http.StatusOK:
		x.admitted++
	default:
		wantStatus(x.t, a, http.StatusTooManyRequests)
		return true
	}
	return false
}

// reaches creates and spends until the node fails, and reports whether it has.
func (x *faulty) reaches(point faultpoint.Point, action string) bool {
	for i := range faultDay / 3 {
		if name := fmt.Sprint("pet", i); !x.create(name) {
			x.open = append(x.open, name)
		}
		x.spend()
		if action == "kill" && within(200*time.Millisecond, x.hasEnded) {
			return true
		}
		if action == "error" && strings.Contains(x.log.String(), "fault injected at "+string(point)) {
			return true
		}
	}
	return false
}

func (x *faulty) hasEnded() bool {
	select {
	case <-x.ended:
		return true
	default:
		return false
	}
}

// TestFaults has nodes die and get an error at each fault point of each store. A new point
// that this does not reach fails here.
func TestFaults(t *testing.T) {
	t.Parallel()
	postgres, redis := sharedPostgres.Server(t), redistest.Start(t)
	file := func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "data") }
	database := func(t *testing.T) string { t.Helper(); return postgres.Database(t) }
	for _, place := range []struct {
		name  string
		data  func(*testing.T) string
		flags []string
		own   bool // nobody else writes to it
	}{
		{"SQLite", file, nil, true},
		{"SQLite and Redis", file, []string{"--limiter", redis.URL()}, true},
		{"PostgreSQL", database, nil, false},
		{"PostgreSQL, counted in memory", database, []string{"--limiter", "memory"}, false},
	} {
		for _, point := range faultpoint.Points() {
			for _, action := range []string{"kill", "error"} {
				t.Run(fmt.Sprintf("%s, %s=%s", place.name, point, action), func(t *testing.T) {
					t.Parallel()
					// A node whose shared counters are late leases for itself, too.
					stalltest.Start(t).Try("the day", func() (lost string) {
						awaitRoomInDay(t, time.Minute)
						x := serveWithFault(t, place.data(t), point, action, place.flags)
						if !x.reaches(point, action) {
							t.Fatalf("it does not reach %s", point)
						}
						switch {
						case action == "kill":
							x.startsAgain(-1, place.flags)
						case place.own && point != faultpoint.LeaseWrite: // a commit that failed is not tried again
							x.startsAgain(exitTryLater, place.flags)
							if place.flags == nil {
								x.forgotten = 1
							}
						}
						return x.check()
					})
				})
			}
		}
	}
}

// startsAgain starts a node that ends, as a supervisor does, without faults.
func (x *faulty) startsAgain(code int, flags []string) {
	x.t.Helper()
	if got := x.wait(20 * time.Second); got != code {
		x.t.Errorf("it ended with %d, want %d: %q", got, code, x.log.sentences())
	}
	x.client.CloseIdleConnections()
	x.server = serve(x.t, x.data, flags...)
}

// check repeats what was not acknowledged, and holds what is there against what clients
// know. It returns how much too much of the day was lost.
func (x *faulty) check() (lost string) {
	x.t.Helper()
	for _, name := range append(x.open, "afterwards") {
		eventually(x.t, 10*time.Second, name+" is acknowledged", func() bool { return x.create(name) })
	}
	x.ledger.check(x.categories(x.key))
	if v := x.ledger.verdict(); v != (verdict{}) {
		x.t.Error(v)
	}
	eventually(x.t, 20*time.Second, "the day is spent", x.spend)
	tooFew := func() bool { return x.admitted+x.unanswered+x.decidedLocally()+faultLoss < faultDay }
	if tooFew() {
		lapse(returnedWithin)
		eventually(x.t, 20*time.Second, "what was given back of the day is spent", x.spend)
	}
	if x.admitted > faultDay+x.forgotten {
		x.t.Errorf("of the day's %d requests %d were admitted, and %d not answered", faultDay, x.admitted, x.unanswered)
	}
	x.t.Logf("%d creates were not acknowledged, %d of them were there; %d of the day were admitted, %d not answered, %d decided locally",
		len(x.open), x.replayed, x.admitted, x.unanswered, x.decidedLocally())
	if tooFew() {
		lost = fmt.Sprintf("of %d requests only %d were admitted, and %d not answered", faultDay, x.admitted, x.unanswered)
	}
	x.mustStop()
	return lost
}

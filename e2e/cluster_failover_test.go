//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
)

// failover is a cluster whose PostgreSQL has a standby. Its nodes are started again when
// they end, at the same addresses, as by a supervisor.
type failover struct {
	*cluster
	standby  *pgtest.Server
	key      string
	ledger   *ledger
	fronts   []*server // the addresses, whoever is there
	restarts atomic.Int64
	sent     atomic.Int64
	primary  atomic.Int32 // how far fail has come
	stopped  chan struct{}
	running  sync.WaitGroup
}

func newFailover(t *testing.T, synchronous bool) *failover {
	t.Helper()
	x := &failover{cluster: newClusterApart(t), ledger: newLedger(), stopped: make(chan struct{})}
	standby, err := x.postgres.Standby(t.Context(), synchronous)
	must(t, err)
	x.standby = standby
	t.Cleanup(func() { must(t, standby.Remove()) })
	u, err := url.Parse(x.database)
	must(t, err)
	x.database = fmt.Sprintf("postgres://petcat@%s,%s%s?sslmode=disable&target_session_attrs=read-write", x.postgres.Address(), standby.Address(), u.Path)
	mustRun(t, "init", "--database", x.database)
	for range 3 {
		x.keepRunning(freeAddress(t), freeAddress(t))
	}
	t.Cleanup(x.end)
	x.key = x.newCaller()
	for _, s := range x.fronts {
		eventually(t, 20*time.Second, "a node serves", func() bool { return s.listsNow(x.key) })
	}
	return x
}

// keepRunning starts a node, and again when it ends because it must be started again.
func (x *failover) keepRunning(listen, admin string) {
	x.fronts = append(x.fronts, &server{t: x.t, data: x.database, client: newClient(x.t), api: "http://" + listen, admin: "http://" + admin})
	x.running.Go(func() {
		for {
			s := x.launch("--listen", listen, "--admin-listen", admin, "--shutdown-timeout", "5s")
			select {
			case <-x.stopped:
				if code := s.stop(); code != exitDone {
					x.t.Errorf("a node ended with %d: %q", code, s.log.sentences())
				}
				return
			case <-s.ended:
			}
			if s.code != exitTryLater {
				x.t.Errorf("a node ended with %d: %q", s.code, s.log.sentences())
				return
			}
			wantOneSentence(x.t, s.log.sentences(), "restored to an earlier state; start petcat again")
			x.restarts.Add(1)
		}
	})
}

// end stops all nodes.
func (x *failover) end() {
	select {
	case <-x.stopped:
		return
	default:
	}
	for _, s := range x.fronts {
		s.client.CloseIdleConnections()
	}
	close(x.stopped)
	x.running.Wait()
}

// listsNow reports whether a node lists what is there now.
func (s *server) listsNow(key string) bool {
	a, err := s.tryList(key)
	return err == nil && a.StatusCode == http.StatusOK && a.Header.Get("Age") == ""
}

// create creates a category at a front, with an idempotency key, and reports whether it
// was acknowledged.
func (x *failover) create(s *server, name string) bool {
	a, err := s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody(name)), withKey(x.key), withHeader("Idempotency-Key", "failover-"+name))
	switch {
	case err != nil: // nobody listens for a moment
	case a.StatusCode == http.StatusCreated:
		x.ledger.acknowledge(a.category(x.t))
		return true
	case a.StatusCode != http.StatusServiceUnavailable && a.StatusCode != http.StatusConflict:
		x.t.Errorf("a create: %d %s", a.StatusCode, a.body)
	}
	return false
}

// load lets clients create until stop is called. Each create is repeated, on any node,
// until it is acknowledged.
func (x *failover) load(clients int) (stop func()) {
	end := make(chan struct{})
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for {
				name := fmt.Sprint("c", x.sent.Add(1))
				x.ledger.send(name)
				for !x.create(x.fronts[rand.IntN(len(x.fronts))], name) {
					lapse(20 * time.Millisecond)
				}
				select {
				case <-end:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	return func() {
		close(end)
		all.Wait()
	}
}

// What there is of a primary.
const (
	primaryServes int32 = iota
	primaryDead
	primaryPromoted
)

// fail kills the primary and promotes the standby. It returns when that was done.
func (x *failover) fail() (promoted time.Time) {
	x.t.Helper()
	x.postgres.Kill()
	x.primary.Store(primaryDead)
	lapse(500 * time.Millisecond)
	x.primary.Store(primaryPromoted)
	must(x.t, x.standby.Promote(x.t.Context()))
	return time.Now()
}

// TestClusterFailover: when the primary PostgreSQL dies under load and its synchronous
// standby takes over, nothing is lost that was acknowledged, each list until then is
// answered, from memory and with its age while there is no primary, and all nodes write
// again within 5 s of the promotion.
func TestClusterFailover(t *testing.T) {
	control := stalltest.Start(t)
	control.Repeat(func() {
		x := newFailover(t, true)
		x.measures = control
		x.failsOver()
	})
}

// failsOver is TestClusterFailover on one cluster.
func (x *failover) failsOver() {
	t := x.t
	stop := x.load(6)
	var old atomic.Int64 // lists without a primary
	reading := stream(2, 20*time.Millisecond, func(random *rand.Rand) {
		s, before := x.fronts[random.IntN(len(x.fronts))], x.primary.Load()
		a, err := s.tryList(x.key)
		now := x.primary.Load()
		switch {
		case now == primaryPromoted && (err != nil || a.StatusCode == http.StatusServiceUnavailable): // the node starts again
		case err != nil:
			t.Errorf("a list: %v", err)
		case a.StatusCode != http.StatusOK:
			t.Errorf("a list: %d %.300s", a.StatusCode, a.body)
		case before == primaryDead && now == primaryDead:
			old.Add(1)
			if a.Header.Get("Age") == "" {
				t.Error("a list without a primary does not say how old it is")
			}
		}
	})
	lapse(time.Second)
	promoted := x.fail()
	x.control().Lap()
	var slowest time.Duration
	for _, s := range x.fronts {
		name := "back-" + s.api
		x.ledger.send(name)
		if !within(10*time.Second, func() bool { return x.create(s, name) && s.listsNow(x.key) }) {
			t.Fatalf("%s does not write 10 s after the promotion", s.api)
		}
		slowest = time.Since(promoted)
	}
	x.control().Judge("all nodes write again", slowest, 5*time.Second)
	stop()
	reading()
	for _, s := range x.fronts {
		x.ledger.check(s.categories(x.key))
	}
	if v := x.ledger.verdict(); v != (verdict{}) {
		t.Error(v)
	}
	acked, maybe := x.ledger.acknowledged()
	t.Logf("%d creates acknowledged, %d not: %s; %d lists without a primary; all nodes wrote again %s after the promotion; %d restarts",
		acked, maybe, x.ledger.verdict(), old.Load(), slowest.Round(time.Millisecond), x.restarts.Load())
	if old.Load() < 3 {
		t.Error("nobody asked for lists while there was no primary")
	}
	if acked < 100 {
		t.Error("this was no load")
	}
	x.end()
}

// TestClusterFailoverLosesCommits: when an asynchronous standby takes over that has not
// received the last commits, running nodes notice, end, and show after their restart what
// is there. None shows what was lost as if it were there, under no ETag of before.
func TestClusterFailoverLosesCommits(t *testing.T) {
	t.Parallel()
	x := newFailover(t, false)
	for i := range 10 {
		x.fronts[i%3].mustCreate(x.key, fmt.Sprint("kept", i))
	}
	kept := x.fronts[0].categories(x.key)
	eventually(t, 10*time.Second, "the standby has all of it", func() bool { return x.standbyHas(10) })
	must(t, x.standby.StopFollowing(t.Context()))
	for i := range 5 {
		x.fronts[i%3].mustCreate(x.key, fmt.Sprint("lost", i))
	}
	var tags []string
	for _, s := range x.fronts {
		a := s.list(x.key)
		if list := a.categories(t); len(list) != 15 {
			t.Fatalf("%s lists %v", s.api, list)
		}
		tags = append(tags, a.Header.Get("ETag"))
	}
	x.fail()
	for _, s := range x.fronts {
		eventually(t, 10*time.Second, "a node has noticed", func() bool {
			a, err := s.tryList(x.key)
			if err != nil || a.StatusCode != http.StatusOK {
				return false
			}
			list := a.categories(t)
			if a.Header.Get("Age") == "" && len(list) != 10 {
				t.Fatalf("%s answers as if nothing was lost: %v", s.api, list)
			}
			return len(list) == 10
		})
		if got := s.categories(x.key); fmt.Sprint(got) != fmt.Sprint(kept) {
			t.Errorf("%s lists %v, want %v", s.api, got, kept)
		}
	}
	// As many revisions as before, and other categories.
	for i := range 5 {
		x.fronts[i%3].mustCreate(x.key, fmt.Sprint("new", i))
	}
	for i, s := range x.fronts {
		a := s.list(x.key)
		if list := a.categories(t); len(list) != 15 || list[10].Name != "new0" {
			t.Errorf("%s lists %v", s.api, list)
		}
		if a.Header.Get("ETag") == tags[i] {
			t.Errorf("%s: the list has the ETag %s, as before with other categories", s.api, tags[i])
		}
	}
	if n := x.restarts.Load(); n != 3 {
		t.Errorf("%d nodes were started again, want 3", n)
	}
	x.end()
}

// standbyHas reports whether the standby knows so many categories.
func (x *failover) standbyHas(count int) bool {
	x.t.Helper()
	u, err := url.Parse(x.database)
	must(x.t, err)
	conn := pgtest.Connect(x.t, "postgres://petcat@"+x.standby.Address()+u.Path+"?sslmode=disable")
	defer func() { _ = conn.Close(x.t.Context()) }()
	var n int
	must(x.t, conn.QueryRow(x.t.Context(), "SELECT count(*) FROM category").Scan(&n))
	return n == count
}

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat/internal/pgtest"
	"petcat/internal/redistest"
	"petcat/internal/stalltest"
)

// cluster is several nodes, each in a process of its own, with one PostgreSQL and
// one Redis.
type cluster struct {
	t        *testing.T
	postgres *pgtest.Server
	redis    *redistest.Server
	database string             // its URL
	nodes    []*server          // those that are to be alive
	bursts   int                // so far; they name accounts
	measures *stalltest.Control // see control
	// pause is that of bursts that must be exact. Clients that do not pause keep all
	// processors busy, and PostgreSQL that counts is late then.
	pause time.Duration
}

// sharedPostgres serves the tests that do not hurt it.
var sharedPostgres pgtest.Shared

// newCluster returns a cluster without nodes, with a database and a Redis of its
// own, on a PostgreSQL that others use: it must not be hurt.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	redistest.Binary(t) // who has but one of them skips at once
	return newClusterOn(t, sharedPostgres.Server(t))
}

// newClusterApart is newCluster with a PostgreSQL of its own.
func newClusterApart(t *testing.T) *cluster {
	t.Helper()
	redistest.Binary(t)
	c := newClusterOn(t, pgtest.New(t, pgtest.Options{}))
	t.Cleanup(c.postgres.Resume) // what cleans up afterwards would hang, too
	return c
}

func newClusterOn(t *testing.T, postgres *pgtest.Server) *cluster {
	t.Helper()
	return &cluster{t: t, postgres: postgres, redis: redistest.Start(t), database: postgres.Database(t)}
}

// control returns what judges whether something is late, or the machine stalls.
func (c *cluster) control() *stalltest.Control {
	c.t.Helper()
	if c.measures == nil {
		c.measures = stalltest.Start(c.t)
	}
	return c.measures
}

// start starts so many nodes at once, and returns when all of them are ready.
func (c *cluster) start(count int, flags ...string) {
	c.t.Helper()
	begin := len(c.nodes)
	for range count {
		c.nodes = append(c.nodes, c.launch(flags...))
	}
	for _, s := range c.nodes[begin:] {
		s.awaitReady()
	}
}

func (c *cluster) launch(flags ...string) *server {
	c.t.Helper()
	return c.launchOn(c.database, flags...)
}

// launchOn starts a node that reaches the database by this URL.
func (c *cluster) launchOn(database string, flags ...string) *server {
	c.t.Helper()
	flags = append([]string{"--limiter", c.redis.URL()}, flags...)
	return launchProcess(c.t, c.database, serveFlags("serve", database, flags)...)
}

// launchInPlaceOf starts a node at the addresses of one that has ended.
func (c *cluster) launchInPlaceOf(ended *server, flags ...string) *server {
	c.t.Helper()
	listen, admin := strings.TrimPrefix(ended.api, "http://"), strings.TrimPrefix(ended.admin, "http://")
	for _, address := range []string{listen, admin} {
		// A port that was let go of may be anybody's for a moment.
		eventually(c.t, 5*time.Second, "the address is free", func() bool {
			l, err := net.Listen("tcp", address)
			if err != nil {
				return false
			}
			return l.Close() == nil
		})
	}
	return c.launch(slices.Concat(flags, []string{"--listen", listen, "--admin-listen", admin})...)
}

// haveShares waits until every node has a share of each quota: for that it must be
// known for 5 s.
func (c *cluster) haveShares() {
	c.t.Helper()
	c.knowEachOther()
	begun := time.Time{}
	for _, s := range c.nodes {
		if s.begun.After(begun) {
			begun = s.begun
		}
	}
	lapse(time.Until(begun.Add(8 * time.Second)))
}

// startOne starts one more node.
func (c *cluster) startOne(flags ...string) *server {
	c.t.Helper()
	c.start(1, flags...)
	return c.nodes[len(c.nodes)-1]
}

// forget takes a node out that was killed or stopped.
func (c *cluster) forget(s *server) {
	c.nodes = slices.DeleteFunc(slices.Clone(c.nodes), func(other *server) bool { return other == s })
}

// knowEachOther waits until every node counts every node: each asks every 2 s.
func (c *cluster) knowEachOther() {
	c.t.Helper()
	c.awaitNodes(15*time.Second, len(c.nodes))
}

// awaitNodes waits until all nodes say that so many serve, and returns how long
// it took.
func (c *cluster) awaitNodes(patience time.Duration, count int) time.Duration {
	c.t.Helper()
	begin := time.Now()
	eventually(c.t, patience, fmt.Sprintf("there are %d nodes", count), func() bool { return c.know(count) })
	return time.Since(begin)
}

// know reports whether all nodes say that so many serve.
func (c *cluster) know(count int) bool {
	return c.all(func(s *server) bool { return s.metric("petcat_nodes") == float64(count) })
}

// awaitWell waits until every node says that all is well, and returns how long it
// took.
func (c *cluster) awaitWell(patience time.Duration) time.Duration {
	c.t.Helper()
	begin := time.Now()
	if !within(patience, func() bool { return c.all((*server).well) }) {
		for _, s := range c.nodes {
			c.t.Logf("/readyz says %v", s.readiness())
		}
		c.t.Fatalf("not all is well after %s", patience)
	}
	return time.Since(begin)
}

// all reports whether something holds for every node.
func (c *cluster) all(holds func(*server) bool) bool {
	return !slices.ContainsFunc(c.nodes, func(s *server) bool { return !holds(s) })
}

// decidedLocally returns how many requests all nodes have decided locally.
func (c *cluster) decidedLocally() (count int) {
	for _, s := range c.nodes {
		count += s.decidedLocally()
	}
	return count
}

// each does something on all nodes at once.
func (c *cluster) each(do func(*server)) {
	var all sync.WaitGroup
	for _, s := range c.nodes {
		all.Go(func() { do(s) })
	}
	all.Wait()
}

// mustStop stops all nodes at once, which have to end well.
func (c *cluster) mustStop() {
	c.t.Helper()
	c.each(func(s *server) {
		s.client.CloseIdleConnections()
		if code := s.stop(); code != exitDone {
			c.t.Errorf("a node ended with %d: %q", code, s.log.sentences())
		}
	})
	c.nodes = nil
}

// newCaller makes an account without limits, and returns a key for it.
func (c *cluster) newCaller() (key string) {
	c.t.Helper()
	return newCaller(c.t, c.database)
}

// remember lets every node keep a key in memory: first it forgets what it looked
// up before it heard that the key was made.
func (c *cluster) remember(key string) {
	c.t.Helper()
	lapse(heardWithin)
	for _, s := range c.nodes {
		wantStatus(c.t, s.list(key), http.StatusOK)
	}
}

// newKey makes an account, and returns a key for it; plan is what follows --plan.
func (c *cluster) newKey(account string, plan ...string) (key string) {
	c.t.Helper()
	openAccount(c.t, c.database, account, plan...)
	_, key = issueKey(c.t, c.database, account)
	return key
}

// newKeys makes so many accounts on one plan, with a key each.
func (c *cluster) newKeys(prefix string, count int, plan ...string) (keys []string) {
	c.t.Helper()
	for i := range count {
		keys = append(keys, c.newKey(fmt.Sprintf("%s%d", prefix, i), plan...))
	}
	return keys
}

// readiness returns what /readyz tells.
func (s *server) readiness() (r readiness) {
	s.t.Helper()
	_, body := s.ask("/readyz")
	must(s.t, json.Unmarshal([]byte(body), &r))
	return r
}

func (s *server) well() bool { return s.readiness().Status == "ready" }

// awaitWell waits until the server says that all is well. On a busy machine its
// limiter may be late for a moment at any time.
func (s *server) awaitWell(patience time.Duration) {
	s.t.Helper()
	if !within(patience, s.well) {
		s.t.Fatalf("not all is well after %s: /readyz says %v", patience, s.readiness())
	}
}

// impatient returns a client of the server that waits no longer than this.
func (s *server) impatient(patience time.Duration) *server {
	client := *s.client
	client.Timeout = patience
	return &server{t: s.t, data: s.data, client: &client, api: s.api, admin: s.admin}
}

// tryList is list for servers that may not answer.
func (s *server) tryList(key string) (*answer, error) {
	return s.try(http.MethodGet, s.api+"/v1/categories", nil, withKey(key))
}

// full is how many kills make torture asks for unless it is told otherwise: what
// the long forms of the tests below are made for.
const full = 200

// often returns how often a test does something: quick times, or, when there is
// time, long times for each full number of kills that are asked for.
func often(t testing.TB, quick, long int) int {
	t.Helper()
	kills := os.Getenv(killsVariable)
	if kills == "" {
		return quick
	}
	n, err := strconv.Atoi(kills)
	must(t, err)
	return max(1, long*n/full)
}

// percentile returns how long so many of 100 took at most.
func percentile(took []time.Duration, of int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)*of+99)/100-1]
}

// awaitRoomInMinute waits, shortly before a minute ends, for the next one.
func awaitRoomInMinute(t testing.TB, room time.Duration) {
	t.Helper()
	eventually(t, room+time.Second, "a new minute begins", func() bool {
		now := time.Now()
		return now.Truncate(time.Minute).Add(time.Minute).Sub(now) > room
	})
}

// lapse lets time pass in which other processes do something: how long an outage
// lasts is part of what is tested.
func lapse(d time.Duration) { <-time.After(d) }

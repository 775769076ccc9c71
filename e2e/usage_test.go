package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
)

// usageAge is how old what commands show of the usage history and of the last use of keys
// may be: see docs/operations.md.
const usageAge = 2 * time.Second

// usageHistory is what petcat usage --json prints.
type usageHistory struct {
	Total struct {
		Requests int64            `json:"requests"`
		Refused  map[string]int64 `json:"refused"`
		Bytes    int64            `json:"bytes"`
	} `json:"total"`
	Periods []usagePeriod `json:"periods"`
	Gaps    []usageGap    `json:"gaps"`
}

type usagePeriod struct {
	Begin      string `json:"begin"`
	Requests   int64  `json:"requests"`
	Incomplete bool   `json:"incomplete"`
}

type usageGap struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// usageOf asks for the history of an account, or of all with "".
func usageOf(t testing.TB, data, account string, more ...string) (h usageHistory) {
	t.Helper()
	args := []string{"usage"}
	if account != "" {
		args = append(args, account)
	}
	must(t, json.Unmarshal([]byte(petcatDoes(t, data, append(append(args, "--json"), more...)...)), &h))
	return h
}

// customers are accounts whose requests are counted by who sends them.
type customers struct {
	t     testing.TB
	data  string
	keys  []string // by account, from acct_1 on
	tally []answers
}

// answers are how many there were of each sort, and how long they were.
type answers struct{ admitted, refused, unknown, bytes atomic.Int64 }

// newCustomers opens accounts; every second one uses up its minute's quota.
func newCustomers(t testing.TB, data string, count int) *customers {
	t.Helper()
	c := &customers{t: t, data: data, tally: make([]answers, count)}
	for n := range count {
		plan := unlimited
		if n%2 == 1 {
			plan = []string{"free"}
		}
		name := fmt.Sprintf("customer %d", n+1)
		openAccount(t, data, name, plan...)
		_, key := issueKey(t, data, name)
		c.keys = append(c.keys, key)
	}
	return c
}

func (c *customers) account(n int) string { return petcat.AccountID(n + 1).String() }

// send sends requests of all accounts to some servers, in turn. One that gets no answer
// may have been admitted.
func (c *customers) send(requests int, servers ...*server) {
	c.t.Helper()
	const clients = 4
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := client; i < requests; i += clients {
				n := i % len(c.keys)
				s := servers[i/len(c.keys)%len(servers)]
				a, err := s.try(http.MethodGet, s.api+"/v1/categories", nil, withKey(c.keys[n]))
				t := &c.tally[n]
				switch {
				case err != nil:
					t.unknown.Add(1)
					continue
				case a.StatusCode == http.StatusOK:
					t.admitted.Add(1)
				case a.StatusCode == http.StatusTooManyRequests:
					t.refused.Add(1)
				default:
					c.t.Errorf("an answer with status %d", a.StatusCode)
				}
				t.bytes.Add(int64(len(a.body)))
			}
		})
	}
	all.Wait()
}

// refusedIn adds up all refusals of an account.
func (h usageHistory) refusedIn() (n int64) {
	for _, refused := range h.Total.Refused {
		n += refused
	}
	return n
}

// wantExact compares the history with what the answers said.
func (c *customers) wantExact() {
	c.t.Helper()
	var admitted, refused int64
	for n := range c.tally {
		want := &c.tally[n]
		h := usageOf(c.t, c.data, c.account(n))
		if h.Total.Requests != want.admitted.Load() || h.refusedIn() != want.refused.Load() || h.Total.Bytes != want.bytes.Load() {
			c.t.Errorf("%s: the history has %d admitted, %d refused and %d bytes; the answers say %d, %d and %d", c.account(n),
				h.Total.Requests, h.refusedIn(), h.Total.Bytes, want.admitted.Load(), want.refused.Load(), want.bytes.Load())
		}
		if len(h.Gaps) > 0 {
			c.t.Errorf("%s: there are the gaps %v", c.account(n), h.Gaps)
		}
		admitted, refused = admitted+want.admitted.Load(), refused+want.refused.Load()
	}
	if all := usageOf(c.t, c.data, ""); all.Total.Requests != admitted || all.refusedIn() != refused {
		c.t.Errorf("all accounts: the history has %d admitted and %d refused; the answers say %d and %d", all.Total.Requests, all.refusedIn(), admitted, refused)
	}
}

// missing returns how many admitted requests the history lacks, after servers were killed.
// It must not have any that nobody sent.
func (c *customers) missing() (n int64) {
	c.t.Helper()
	for i := range c.tally {
		want := &c.tally[i]
		got := usageOf(c.t, c.data, c.account(i)).Total.Requests
		if most := want.admitted.Load() + want.unknown.Load(); got > most {
			c.t.Errorf("%s: the history has %d admitted requests, of %d at most", c.account(i), got, most)
		}
		n += max(0, want.admitted.Load()-got)
	}
	return n
}

// lost returns how many admitted requests are not in the history, or not yet.
func (c *customers) lost() int64 {
	c.t.Helper()
	admitted := int64(0)
	for n := range c.tally {
		admitted += c.tally[n].admitted.Load()
	}
	return admitted - usageOf(c.t, c.data, "").Total.Requests
}

// saved has each server answer each account once more, and waits until the history has
// everything except what was lost before. It returns a moment after which the last
// of it was answered.
func (c *customers) saved(lost int64, servers ...*server) time.Time {
	c.t.Helper()
	before := time.Now()
	c.send(len(c.keys)*len(servers), servers...)
	eventually(c.t, 10*time.Second, "the history has everything", func() bool { return c.lost() == lost })
	return before
}

// killed is a server that was killed.
type killed struct {
	saved time.Time   // what it answered before is in the history
	last  []time.Time // since then it answered each account once before each of these moments
	at    time.Time
}

// kill sends requests to a server, and kills it as soon as they are answered.
func (c *customers) kill(s *server, saved time.Time, requests int) killed {
	c.t.Helper()
	k := killed{saved: saved}
	for range requests / len(c.keys) {
		c.send(len(c.keys), s)
		k.last = append(k.last, time.Now())
	}
	s.kill()
	k.at = time.Now()
	return k
}

// wantGaps checks that the history has one gap for each server that was killed, in their
// order, from after what was saved until after the kill. It may lack what was
// answered in the gaps, and nothing else.
func (c *customers) wantGaps(all []killed) {
	c.t.Helper()
	h := usageOf(c.t, c.data, "")
	if len(h.Gaps) != len(all) || !slices.ContainsFunc(h.Periods, func(p usagePeriod) bool { return p.Incomplete }) {
		c.t.Fatalf("there are the gaps %v in %v, want %d", h.Gaps, h.Periods, len(all))
	}
	slices.SortFunc(h.Gaps, func(a, b usageGap) int { return a.From.Compare(b.From) })
	most := 0
	for i, g := range h.Gaps { // in whole seconds
		k := all[i]
		if g.From.Before(k.saved.Truncate(time.Second)) || g.From.After(k.at) || g.Until.Before(k.at) {
			c.t.Errorf("the gap %v is not of the kill at %s, before which all was saved at %s", g, k.at, k.saved)
		}
		for _, at := range k.last {
			if at.After(g.From) {
				most += len(c.keys)
			}
		}
	}
	missing := c.missing()
	c.t.Logf("after %d kills %d requests are missing; %d were answered in the gaps", len(all), missing, most)
	if missing > int64(most) {
		c.t.Errorf("%d requests are missing, of %d that were answered in the gaps", missing, most)
	}
}

// TestUsage: the history is what the answers said, account by account, over restarts.
func TestUsage(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	c := newCustomers(t, data, 20)
	for range 3 {
		s := serve(t, data)
		c.send(often(t, 2_000, 30_000), s)
		s.mustStop()
	}
	c.wantExact()

	// It is the same in CSV.
	rows, err := csv.NewReader(strings.NewReader(petcatDoes(t, data, "usage", "acct_1", "--by", "hour", "--csv"))).ReadAll()
	must(t, err)
	var sum int64
	for _, row := range rows[1:] {
		n, err := strconv.ParseInt(row[1], 10, 64)
		must(t, err)
		sum += n
	}
	if want := c.tally[0].admitted.Load(); sum != want {
		t.Errorf("in CSV there are %d requests, want %d", sum, want)
	}
}

// TestUsageIsSoonShown: what petcat usage shows is not older than it may be.
func TestUsageIsSoonShown(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"SQLite": filepath.Join(t.TempDir(), "data"), "PostgreSQL": sharedPostgres.Server(t).Database(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCustomers(t, data, 1)
			s := serve(t, data)
			for range often(t, 3, 30) {
				s.control().InTime("the history has everything", usageAge, func() time.Duration {
					c.send(10, s)
					s.control().Lap()
					return unseen(t, 10*time.Second, "the history has everything", func() bool {
						return usageOf(t, data, c.account(0)).Total.Requests == c.tally[0].admitted.Load()
					})
				})
			}
			s.mustStop()
		})
	}
}

// TestUsageOfAKilledServer: what had been saved stays in the history, and from then until
// the kill is noticed it is marked.
func TestUsageOfAKilledServer(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	c := newCustomers(t, data, 20)
	var all []killed
	for range 3 {
		s := serve(t, data)
		lost := c.lost() // at the kills before
		c.send(often(t, 1_000, 10_000), s)
		all = append(all, c.kill(s, c.saved(lost, s), often(t, 400, 4_000)))
	}
	serve(t, data).mustStop() // it notices the last kill
	c.wantGaps(all)
}

package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/randomtest"
	"petcat/internal/sqlite"
)

// world has a store, nodes that come and go, and a model of what they counted.
type world struct {
	t     *testing.T
	steps *randomtest.Steps
	clock *clock.Manual
	store *sqlite.Store
	nodes []*node
	made  int // nodes so far

	sure  map[accountHour]petcat.UsageCounts // must be in the history
	maybe map[accountHour]petcat.UsageCounts // of nodes that were killed
	cut   map[string]bool                    // those that could not write for long before
}

type accountHour struct {
	account petcat.AccountID
	hour    time.Time
}

// node is a process: its link to the store fails in the ways in which networks do.
type node struct {
	*Recorder

	*world
	name    string
	mode    linkMode
	late    []petcat.UsageBatch // that were lost on their way, and arrive yet
	unsaved []Request           // since the last time that everything was written
}

type linkMode int

const (
	works linkMode = iota
	away
	answerLost // it is done, and nobody hears of it
	slow       // it is done later
)

var errLink = errors.New("no answer")

func (n *node) AddUsage(ctx context.Context, b petcat.UsageBatch) error {
	switch n.mode {
	case away:
		return errLink
	case slow:
		n.late = append(n.late, b)
		return errLink
	default:
	}
	if err := n.world.store.AddUsage(ctx, b); err != nil || n.mode == answerLost {
		return errors.Join(err, errLink)
	}
	return nil
}

// AddRefusals is not what this is about.
func (n *node) AddRefusals(context.Context, []petcat.AccountRefusals) error { return nil }

func (w *world) open(path string) {
	w.t.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.store, err = sqlite.Open(w.t.Context(), sqlite.Options{Dir: dir, Environment: petcat.Production, Clock: w.clock}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) join() {
	w.made++
	n := &node{world: w, name: fmt.Sprintf("node %d", w.made)}
	n.Recorder = New(Options{Node: n.name, Clock: w.clock, Logger: slog.New(slog.DiscardHandler)})
	n.Open(n)
	n.Flush(w.t.Context())
	w.nodes = append(w.nodes, n)
}

func (n *node) count() {
	q := Request{At: n.clock.Read().Time(), Account: petcat.AccountID(n.steps.IntN(4) * 300), Status: 200, Bytes: n.steps.Int64N(5_000)}
	switch {
	case q.Account == 0:
		q.Status, q.Code = 401, petcat.CodeInvalidAPIKey
	case n.steps.OneIn(3):
		q.Key, q.Status, q.Code = petcat.KeyID(q.Account), 429, randomtest.Pick(n.steps, petcat.CodeRateLimitExceeded, petcat.CodeDailyQuotaExceeded, petcat.CodeKeyBanned)
	default:
		q.Key, q.Admitted = petcat.KeyID(q.Account), true
	}
	if n.steps.OneIn(10) { // it began long before
		q.At = q.At.Add(-time.Minute)
	}
	n.Count(q)
	n.unsaved = append(n.unsaved, q)
}

func (n *node) flush() {
	if n.write(n.t.Context(), false) {
		n.settle(n.sure)
	}
}

// settle adds to a model what the node counted since everything was written.
func (n *node) settle(into map[accountHour]petcat.UsageCounts) {
	for _, q := range n.unsaved {
		var c count
		c.add(q, 0)
		for _, a := range slices.Compact([]petcat.AccountID{q.Account, petcat.AllAccounts}) {
			at := accountHour{a, petcat.UsageByHour.Floor(q.At)}
			sum := into[at]
			sum.Add(c.UsageCounts)
			into[at] = sum
		}
	}
	n.unsaved = nil
}

// deliver has a batch arrive that was on its way for long.
func (n *node) deliver() {
	if len(n.late) == 0 {
		return
	}
	i := n.steps.IntN(len(n.late))
	if err := n.world.store.AddUsage(n.t.Context(), n.late[i]); err != nil {
		n.t.Fatal(err)
	}
	n.late = slices.Delete(n.late, i, i+1)
}

// leave takes a node away: as at a shutdown, or as by kill -9.
func (w *world) leave(n *node, killed bool) {
	if killed {
		n.settle(w.maybe)
		w.cut[n.name] = w.clock.Read().Mono-n.wrote >= int64(time.Minute)
		for len(n.late) > 0 && w.steps.OneIn(2) {
			n.deliver() // what was on its way arrives without it
		}
	} else {
		n.mode = works
		n.Close(w.t.Context())
		n.settle(w.sure)
		for len(n.late) > 0 {
			n.deliver()
		}
	}
	w.nodes = slices.DeleteFunc(w.nodes, func(other *node) bool { return other == n })
}

func (w *world) step() {
	n := w.nodes[w.steps.IntN(len(w.nodes))]
	switch w.steps.IntN(12) {
	case 0:
		n.mode = linkMode(w.steps.IntN(4))
		w.steps.Note("%s: mode %d", n.name, n.mode)
	case 1:
		d := randomtest.Pick(w.steps, time.Second, time.Second, time.Minute, 20*time.Minute)
		w.clock.Advance(d)
		w.steps.Note("%s pass", d)
	case 2:
		w.steps.Note("clean")
		if err := w.store.Clean(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	case 3:
		if killed := w.steps.OneIn(2); w.steps.OneIn(4) {
			w.steps.Note("%s leaves, killed: %t", n.name, killed)
			w.leave(n, killed)
			w.join()
		}
	case 4:
		w.steps.Note("something of %s arrives late", n.name)
		n.deliver()
	case 5, 6, 7:
		w.steps.Note("%s writes", n.name)
		n.flush()
	default:
		for range w.steps.IntN(20) {
			n.count()
		}
	}
}

// check compares the history with the model.
func (w *world) check() {
	w.t.Helper()
	for len(w.nodes) > 0 {
		w.leave(w.nodes[0], false)
	}
	if err := w.store.NoteKilledNodes(w.t.Context(), 0); err != nil {
		w.t.Fatal(err)
	}
	for range 2 { // before and after everything is in hours
		w.clock.Advance(2 * time.Hour)
		for a := range petcat.AccountID(4) {
			w.checkAccount(a * 300)
		}
		if err := w.store.Clean(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) checkAccount(a petcat.AccountID) {
	w.t.Helper()
	h, err := w.store.Usage(w.t.Context(), petcat.UsageQuery{Account: a, To: w.clock.Read().Time().Add(time.Hour), Step: petcat.UsageByHour})
	if err != nil {
		w.t.Fatal(err)
	}
	got := make(map[accountHour]petcat.UsageCounts)
	for _, p := range h.Periods {
		got[accountHour{a, p.Begin}] = p.UsageCounts
	}
	for _, model := range []map[accountHour]petcat.UsageCounts{w.sure, w.maybe} {
		for at := range model {
			if _, there := got[at]; at.account == a && !there {
				got[at] = petcat.UsageCounts{}
			}
		}
	}
	for at, c := range got {
		least, most := w.sure[at], w.sure[at]
		most.Add(w.maybe[at])
		if c.Requests < least.Requests || c.Requests > most.Requests || c.Refused() < least.Refused() || c.Refused() > most.Refused() ||
			c.Bytes < least.Bytes || c.Bytes > most.Bytes {
			w.t.Errorf("%s at %s:\n     %+v\nwant %+v\nto   %+v", at.account, at.hour, c, least, most)
		}
		marked := slices.ContainsFunc(h.Gaps, func(g petcat.UsageGap) bool {
			if w.cut[g.Node] { // nobody can know how long it went on
				g.Until = w.clock.Read().Time()
			}
			g.From = g.From.Add(-time.Minute) // some requests began a minute before they were counted
			return g.Meets(at.hour, petcat.UsageByHour)
		})
		if c != most && !marked {
			w.t.Errorf("%s at %s:\n     %+v\nof   %+v, and the gaps are %v", at.account, at.hour, c, most, h.Gaps)
		}
	}
}

// TestHistoryIsExact compares the history with a model, while nodes are stopped and
// killed and their links to the store fail: what a node counted is in it once, unless it
// was killed before it could write that, and then a gap says so.
func TestHistoryIsExact(t *testing.T) {
	randomtest.Run(t, func(t *testing.T, seed uint64) {
		w := &world{
			t: t, steps: randomtest.New(seed), clock: clock.NewManual(noon),
			sure: map[accountHour]petcat.UsageCounts{}, maybe: map[accountHour]petcat.UsageCounts{}, cut: map[string]bool{},
		}
		w.open(t.TempDir())
		defer func() {
			if err := w.store.Close(); err != nil {
				t.Error(err)
			}
		}()
		for range 3 {
			w.join()
		}
		for range 1_000 {
			w.step()
		}
		w.check()
		if t.Failed() {
			t.Logf("the last steps:\n%s", w.steps.Trail())
		}
	})
}

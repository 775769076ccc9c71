package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ledger is what the clients of a server know, to be held against what the
// server has after a crash. Every name is sent once, or, with an idempotency
// key, again and again until it is answered. Nobody changes or deletes a category while
// another change of it is not answered.
type ledger struct {
	mu      sync.Mutex
	names   map[int64]string // guarded by mu: what was acknowledged or shown, by id
	ids     map[string]int64 // guarded by mu: the same, by name
	acked   map[int64]bool   // guarded by mu
	maybe   map[string]bool  // guarded by mu: sent, and never answered
	pending map[int64]string // guarded by mu: what may have become of a category: a name, or gone
	deleted map[int64]bool   // guarded by mu: acknowledged
	former  map[string]int64 // guarded by mu: names that were changed, by name
	changes int              // guarded by mu: acknowledged, deletions too
	found   verdict          // guarded by mu
}

// gone is what a deletion makes of a name.
const gone = ""

// verdict counts what must not happen.
type verdict struct {
	Lost       int // acknowledged, and not there
	Vanished   int // shown in a list, and not there later
	Reused     int // an id that stood for two names
	Duplicated int // a name that was created twice
	Strange    int // there, and never sent
	Disordered int // ids that do not ascend in a list
	Undone     int // a change or a deletion that was acknowledged, and is not there
}

func newLedger() *ledger {
	return &ledger{
		names: make(map[int64]string), ids: make(map[string]int64),
		acked: make(map[int64]bool), maybe: make(map[string]bool),
		pending: make(map[int64]string), deleted: make(map[int64]bool), former: make(map[string]int64),
	}
}

// send notes that a name is on its way: until it is acknowledged, nobody knows.
func (l *ledger) send(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maybe[name] = true
}

// acknowledge notes a 201.
func (l *ledger) acknowledge(c category) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learn(c)
	l.acked[c.ID] = true
	delete(l.maybe, c.Name)
}

// change notes that a category is to get another name, or to be gone.
func (l *ledger) change(id int64, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[id] = name
}

// changed notes that the change was acknowledged.
func (l *ledger) changed(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.become(id)
	l.changes++
}

// become makes of a category what was pending. The caller holds mu.
func (l *ledger) become(id int64) {
	name, before := l.pending[id], l.names[id]
	delete(l.pending, id)
	delete(l.ids, before)
	l.former[before] = id
	if name == gone {
		delete(l.names, id)
		delete(l.acked, id)
		l.deleted[id] = true
		return
	}
	l.names[id], l.ids[name] = name, id
}

// learn notes which id a name has. The caller holds mu.
func (l *ledger) learn(c category) {
	if next, changing := l.pending[c.ID]; changing && next == c.Name {
		l.become(c.ID)
	}
	if l.former[c.Name] == c.ID {
		l.found.Undone++
		return
	}
	if name, known := l.names[c.ID]; known && name != c.Name {
		l.found.Reused++
	}
	if id, known := l.ids[c.Name]; known && id != c.ID {
		l.found.Duplicated++
	}
	l.names[c.ID], l.ids[c.Name] = c.Name, c.ID
}

// check holds a list, read while nobody writes, against what is known.
func (l *ledger) check(list []category) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.IsSortedFunc(list, func(a, b category) int { return int(a.ID - b.ID) }) {
		l.found.Disordered++
	}
	shown := make(map[int64]string, len(list))
	for _, c := range list {
		shown[c.ID] = c.Name
		if l.deleted[c.ID] {
			l.found.Undone++
			continue
		}
		if _, known := l.ids[c.Name]; !known && !l.maybe[c.Name] && l.former[c.Name] != c.ID && l.pending[c.ID] != c.Name {
			l.found.Strange++
		}
		l.learn(c)
	}
	for id, name := range l.names {
		next, changing := l.pending[id]
		switch {
		case shown[id] == name:
		case changing && next == gone && shown[id] == gone:
			l.become(id)
		case l.former[shown[id]] == id: // learn has told
		case l.acked[id]:
			l.found.Lost++
		default:
			l.found.Vanished++
		}
	}
}

// acknowledged returns how many creates were acknowledged, and of how many
// nobody knows.
func (l *ledger) acknowledged() (acked, maybe int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked), len(l.maybe)
}

func (l *ledger) verdict() verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}

// TestLedgerSeesWhatItShould shows that the tests below are not blind.
func TestLedgerSeesWhatItShould(t *testing.T) {
	// dog, cat and cow were acknowledged; emu and gnu were sent.
	known := func() *ledger {
		l := newLedger()
		for _, name := range []string{"dog", "cat", "cow", "emu", "gnu"} {
			l.send(name)
		}
		for i, name := range []string{"dog", "cat", "cow"} {
			l.acknowledge(category{int64(i + 1), name})
		}
		return l
	}
	for _, c := range []struct {
		name  string
		lists [][]category
		want  verdict
	}{
		{name: "all there", lists: [][]category{{{1, "dog"}, {2, "cat"}, {3, "cow"}}}},
		{name: "one that nobody knew of", lists: [][]category{{{1, "dog"}, {2, "cat"}, {3, "cow"}, {5, "gnu"}}}},
		{name: "lost", lists: [][]category{{{1, "dog"}, {3, "cow"}}}, want: verdict{Lost: 1}},
		{name: "all lost", lists: [][]category{{}}, want: verdict{Lost: 3}},
		{
			name:  "id reused",
			lists: [][]category{{{1, "dog"}, {2, "cat"}, {3, "emu"}}},
			want:  verdict{Reused: 1},
		},
		{
			name:  "duplicated",
			lists: [][]category{{{1, "dog"}, {2, "cat"}, {3, "cow"}, {4, "cat"}}},
			want:  verdict{Duplicated: 1},
		},
		{
			name:  "shown and gone",
			lists: [][]category{{{1, "dog"}, {2, "cat"}, {3, "cow"}, {4, "emu"}}, {{1, "dog"}, {2, "cat"}, {3, "cow"}}},
			want:  verdict{Vanished: 1},
		},
		{
			name:  "from nowhere",
			lists: [][]category{{{1, "dog"}, {2, "cat"}, {3, "cow"}, {4, "yak"}}},
			want:  verdict{Strange: 1},
		},
		{
			name:  "out of order",
			lists: [][]category{{{2, "cat"}, {1, "dog"}, {3, "cow"}}},
			want:  verdict{Disordered: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := known()
			for _, list := range c.lists {
				l.check(list)
			}
			if diff := cmp.Diff(c.want, l.verdict()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("changes", func(t *testing.T) {
		for _, c := range []struct {
			name string
			list []category
			want verdict
		}{
			{"made", []category{{1, "hound"}, {3, "calf"}}, verdict{}},
			{"made but for the last, which nobody answered", []category{{1, "hound"}, {3, "cow"}}, verdict{}},
			{"a change undone", []category{{1, "dog"}, {3, "cow"}}, verdict{Undone: 1}},
			{"a deletion undone", []category{{1, "hound"}, {2, "cat"}, {3, "cow"}}, verdict{Undone: 1}},
			{"another name", []category{{1, "hound"}, {3, "emu"}}, verdict{Reused: 1}},
			{"a changed one lost", []category{{3, "cow"}}, verdict{Lost: 1}},
		} {
			l := known()
			l.change(1, "hound")
			l.changed(1)
			l.change(2, gone)
			l.changed(2)
			l.change(3, "calf")
			l.check(c.list)
			if got := l.verdict(); got != c.want {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	})
	t.Run("a retry that made a second", func(t *testing.T) {
		l := known()
		l.acknowledge(category{4, "cat"})
		if got := l.verdict(); got != (verdict{Duplicated: 1}) {
			t.Errorf("verdict %+v", got)
		}
	})
	t.Run("a replay", func(t *testing.T) {
		l := known()
		l.acknowledge(category{2, "cat"})
		if got := l.verdict(); got != (verdict{}) {
			t.Errorf("verdict %+v", got)
		}
	})
}

func (v verdict) String() string {
	return fmt.Sprintf("%d lost, %d vanished, %d changes undone, %d ids reused, %d duplicated, %d strange, %d lists disordered",
		v.Lost, v.Vanished, v.Undone, v.Reused, v.Duplicated, v.Strange, v.Disordered)
}

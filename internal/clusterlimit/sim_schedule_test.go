package clusterlimit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"petcat"
)

// schedule is what happens to a cluster: made up from a seed. The mask leaves events
// out.
type schedule struct {
	seed      uint64
	mask      mask
	begin     int64
	length    time.Duration
	nodes     int
	quotas    []petcat.Quota
	smallDays bool
	even      bool // the load, in all of it, and nothing but the counters fails
	events    []happening
}

type happening struct {
	at    time.Duration
	kind  kind
	node  int // index of all that ever joined
	lasts time.Duration
	n     int64   // a number: requests, a quota
	part  float64 // a probability
	who   int     // an account
	how   spread
}

type kind uint8

const (
	load kind = iota
	cutOff
	countersAway
	slow
	lossy
	emptied
	restarted
	replicate
	promoted
	doubled
	clockSet
	killed
	frozen
	joined
	noDatabase
	storeAway
	planChanged
	kinds
)

func (k kind) String() string {
	return [...]string{
		"load", "cut off", "counters away", "slow", "lossy", "emptied", "restarted", "replicate", "promoted", "doubled", "clock set",
		"killed", "frozen", "joined", "no database", "store away", "plan changed",
	}[k]
}

// spread is how a client's requests are spread over nodes.
type spread uint8

const (
	onOne spread = iota
	mostlyOnOne
	evenly
	anywhere
	spreads
)

func (s spread) String() string {
	return [...]string{"on one", "mostly on one", "evenly", "anywhere"}[s]
}

func (h happening) String() string {
	return fmt.Sprintf("%8s %-13s node %d for %s, account %d, n %d, %s, %.2f", h.at.Round(time.Millisecond), h.kind, h.node, h.lasts.Round(time.Millisecond), h.who, h.n, h.how, h.part)
}

// mask says which of a schedule's events happen; nil: all.
type mask []bool

func (m mask) has(i int) bool { return m == nil || m[i] }

// String returns the mask as the indexes that remain.
func (m mask) String() string {
	var kept []string
	for i, has := range m {
		if has {
			kept = append(kept, fmt.Sprint(i))
		}
	}
	return strings.Join(kept, ",")
}

// midnight is where days end.
var midnight = time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC).UnixNano()

func newSchedule(seed uint64) *schedule {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &schedule{seed: seed, nodes: 1 + r.IntN(5), length: time.Duration(80+r.IntN(120)) * time.Second}
	s.begin = midnight - int64(12*time.Hour) + r.Int64N(int64(time.Minute))
	if r.IntN(6) == 0 {
		s.begin = midnight - r.Int64N(int64(2*time.Minute))
	}
	for range 1 + r.IntN(2) {
		q := petcat.Quota{PerMinute: []int64{60, 60, 10, 3, 1, 100}[r.IntN(6)], PerDay: 100_000}
		if r.IntN(5) == 0 {
			q.PerDay, s.smallDays = q.PerMinute+r.Int64N(200), true
		}
		s.quotas = append(s.quotas, q)
	}
	if r.IntN(10) == 0 {
		s.addEven(r)
		return s
	}
	s.addLoad(r)
	s.addFaults(r)
	return s
}

// addEven makes a schedule of twice as much as is allowed, spread evenly, and of counters
// that are unavailable for a while.
func (s *schedule) addEven(r *rand.Rand) {
	s.even = true
	for who, q := range s.quotas {
		s.events = append(s.events, happening{
			kind: load, who: who, how: evenly, n: 2 * q.PerMinute * int64(s.length/time.Second) / 60, lasts: s.length,
		})
	}
	for range 1 + r.IntN(2) {
		s.events = append(s.events, happening{
			at: s.moment(r), kind: countersAway, lasts: time.Duration(r.Int64N(int64([]time.Duration{time.Second, 30 * time.Second, 2 * time.Minute}[r.IntN(3)]))),
		})
	}
}

// moment is some time in a schedule; half of them are near the beginning of a minute.
func (s *schedule) moment(r *rand.Rand) time.Duration {
	at := time.Duration(r.Int64N(int64(s.length)))
	if r.IntN(2) == 0 {
		minutes := (s.begin + int64(at)) / int64(time.Minute) * int64(time.Minute)
		at = time.Duration(max(0, minutes-s.begin+r.Int64N(int64(8*time.Second))-int64(4*time.Second)))
	}
	return at
}

func (s *schedule) addLoad(r *rand.Rand) {
	for range 3 + r.IntN(10) {
		who := r.IntN(len(s.quotas))
		limit := s.quotas[who].PerMinute
		s.events = append(s.events, happening{
			at: s.moment(r), kind: load, node: r.IntN(s.nodes + 2), who: who, how: spread(r.IntN(int(spreads))),
			n:     1 + r.Int64N([]int64{4, limit, limit, 2*limit + 5, limit*int64(s.nodes) + 10}[r.IntN(5)]),
			lasts: []time.Duration{0, time.Second, 10 * time.Second, 50 * time.Second, 2 * time.Minute}[r.IntN(5)],
		})
	}
}

// addFaults adds faults of a few kinds: many kinds at once excuse everything.
func (s *schedule) addFaults(r *rand.Rand) {
	themes := [][]kind{
		{},
		{killed, joined, frozen},
		{cutOff},
		{cutOff, killed},
		{countersAway},
		{countersAway, killed, joined},
		{emptied},
		{emptied, cutOff, restarted},
		{replicate, promoted},
		{replicate, promoted, countersAway},
		{clockSet},
		{clockSet, emptied},
		{clockSet, killed, joined},
		{clockSet, frozen},
		{clockSet, countersAway},
		{clockSet, killed, joined, frozen, countersAway, cutOff},
		{doubled},
		{doubled, lossy, slow},
		{doubled, emptied, storeAway},
		{doubled, replicate, promoted, countersAway, killed},
		{slow, lossy},
		{lossy, emptied},
		{noDatabase, killed, joined},
		{noDatabase, cutOff},
		{storeAway},
		{storeAway, countersAway},
		{storeAway, emptied},
		{frozen, countersAway},
		{planChanged},
		{planChanged, countersAway},
		{cutOff, frozen, joined, countersAway, noDatabase, emptied, slow, lossy, killed, storeAway, planChanged},
	}
	theme := themes[r.IntN(len(themes))]
	if len(theme) == 0 {
		return
	}
	for range 1 + r.IntN(5) {
		h := happening{
			at: s.moment(r), kind: theme[r.IntN(len(theme))], node: r.IntN(s.nodes + 1), who: r.IntN(len(s.quotas)), part: []float64{0.05, 0.3, 0.8}[r.IntN(3)],
			lasts: time.Duration(r.Int64N(int64([]time.Duration{100 * time.Millisecond, 3 * time.Second, 20 * time.Second, 100 * time.Second}[r.IntN(4)]))),
			n:     []int64{60, 10, 3, 300}[r.IntN(4)],
		}
		if (h.kind == countersAway || h.kind == cutOff) && r.IntN(2) == 0 {
			// For whole minutes, in which everybody is asked for more than there is.
			h.at, h.lasts = time.Duration(r.Int64N(int64(30*time.Second))), time.Duration(70+r.IntN(120))*time.Second
			s.events = append(s.events, happening{
				at: h.at + time.Duration(r.Int64N(int64(60*time.Second))), kind: load, who: h.who, how: evenly,
				n: (s.quotas[h.who].PerMinute + 5) * int64(s.nodes), lasts: time.Duration(r.Int64N(int64(20 * time.Second))),
			})
		}
		if h.kind == clockSet {
			h.lasts = []time.Duration{time.Minute, -time.Minute, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}[r.IntN(6)]
			s.events = append(s.events, happening{at: h.at + time.Duration(r.Int64N(int64(50*time.Second))), kind: clockSet, lasts: -h.lasts})
		}
		s.events = append(s.events, h)
	}
}

// happen makes an event happen.
func (w *world) happen(h happening) {
	o := &w.oracle
	until := w.now + int64(h.lasts)
	var n *simNode
	if h.node < len(w.nodes) && !w.nodes[h.node].dead {
		n = w.nodes[h.node]
	}
	if h.kind != load {
		w.lookAhead()
	}
	switch h.kind {
	case load:
		w.load(h)
	case countersAway:
		w.countersDown = max(w.countersDown, until)
		o.faults = append(o.faults, interval{nil, w.now, until})
	case slow:
		w.slowUntil = max(w.slowUntil, until)
		o.faults = append(o.faults, interval{nil, w.now, until + int64(time.Second)})
	case lossy:
		w.flakyUntil, w.flaky = max(w.flakyUntil, until), h.part
		o.faults = append(o.faults, interval{nil, w.now, until + int64(100*time.Millisecond)})
	case doubled:
		w.doubledUntil, w.doubled = max(w.doubledUntil, until), h.part
		o.faults = append(o.faults, interval{nil, w.now, until + int64(time.Second)})
	case emptied, restarted, promoted:
		w.endEpoch(h.kind)
	case replicate:
		w.replica = w.counters.Copy(0)
	case clockSet:
		w.ahead += int64(h.lasts)
		o.tick() // also if nothing happens until the next minute
		o.steps++
		o.stepped = w.now
	case storeAway:
		w.storeDown = max(w.storeDown, until)
		o.dbFaults = append(o.dbFaults, interval{nil, w.now, until})
	case planChanged:
		w.accounts[h.who].quota.PerMinute = h.n
		o.quotaChanged(w.accounts[h.who])
	case joined:
		if len(w.nodes) < 6 {
			o.joins = append(o.joins, w.now)
			w.join()
		}
	default:
		if n != nil {
			w.strike(n, h.kind, until)
		}
	}
}

func (w *world) endEpoch(k kind) {
	if k == promoted && w.replica == nil {
		return
	}
	w.oracle.forgotten()
	switch k {
	case emptied:
		w.counters.Empty(0)
	case restarted:
		w.counters.Restart(0)
	default:
		w.replica()
	}
	w.oracle.begins = true
	w.oracle.current().epoch = true
}

// strike lets something happen to one node.
func (w *world) strike(n *simNode, k kind, until int64) {
	o := &w.oracle
	switch k {
	case cutOff:
		n.cutUntil = max(n.cutUntil, until)
		o.faults = append(o.faults, interval{n, w.now, until})
	case killed:
		n.dead, n.diedAt = true, w.now
	case frozen:
		if n.frozenUntil < w.now {
			n.frozenSince = w.now
			n.frozenUntil = until
			n.frozenFor += until - w.now
			o.dbFaults = append(o.dbFaults, interval{n, w.now, until})
		}
	case noDatabase:
		n.noStoreUntil = max(n.noStoreUntil, until)
		o.dbFaults = append(o.dbFaults, interval{n, w.now, until})
	default:
	}
}

// load lets a client send.
func (w *world) load(h happening) {
	for i := range h.n {
		at := w.now
		if h.lasts > 0 {
			at += int64(h.lasts) * i / h.n
		}
		w.at(at, func() {
			if n := w.pick(h, i); n != nil {
				r := &simRequest{client: w.accounts[h.who], sent: w.now}
				w.oracle.sent(r)
				w.arrive(n, 0, func() {
					r.since = n.stopwatch()
					n.spend(r)
				})
			}
		})
	}
}

// pick chooses the node that a request goes to, of those that serve.
func (w *world) pick(h happening, i int64) *simNode {
	k := int64(h.node)
	switch h.how {
	case mostlyOnOne:
		if i%100 == 99 || i%7 == 3 && h.n < 100 {
			k++
		}
	case evenly:
		k += i
	case anywhere:
		k = w.random.Int64N(int64(len(w.nodes)))
	default:
	}
	n := w.nodes[int(k)%len(w.nodes)]
	if !n.serves() {
		return nil
	}
	return n
}

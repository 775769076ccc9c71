package clusterlimit

import (
	"fmt"
	"math/rand/v2"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
)

// world is a cluster of nodes in virtual time: nodes, the counters, the database and
// the network between them. All that happens follows from a schedule.
type world struct {
	schedule *schedule
	random   *rand.Rand
	now      int64 // nanoseconds since the Unix epoch
	events   eventHeap
	sequence int64
	end      int64

	counters *counterstest.Reference
	ahead    int64 // the counters' clock before the true time
	replica  func()
	store    dayStore
	nodes    []*simNode
	rows     rows
	accounts []*client
	oracle   oracle
	change   mutation

	// Faults, each until a moment.
	countersDown, storeDown, slowUntil, flakyUntil, doubledUntil int64
	flaky, doubled                                               float64
	nextFault                                                    int64 // when it begins
	highest                                                      int64 // that the counters' clock showed
}

// rows is the database's table of nodes, by the rules of [postgres.Store.Beat].
type rows []*row

type row struct {
	id           string
	joined, seen int64
	cutOff       uint64
}

func (r *rows) join(id string, joined, seen int64) *row {
	n := &row{id: id, joined: joined, seen: seen}
	*r = append(*r, n)
	return n
}

// beat writes a node's row, and returns those that were seen lately, and whether this
// one joined anew.
func (r *rows) beat(id string, now int64, cutOff uint64) (members []counters.Member, anew bool) {
	var own *row
	for _, n := range *r {
		switch {
		case n.id != id:
		case now-n.seen > int64(30*time.Second):
			n.id = fmt.Sprint(id, " until ", n.seen)
			anew = true
		default:
			own = n
		}
	}
	if own == nil {
		own = r.join(id, now, now)
	}
	own.seen, own.cutOff = now, cutOff
	for _, n := range *r {
		if now-n.seen <= int64(10*time.Minute) {
			members = append(members, counters.Member{ID: n.id, Joined: time.Duration(now - n.joined), Seen: time.Duration(now - n.seen), CutOff: n.cutOff})
		}
	}
	return members, anew
}

// client is an account with those who send for it.
type client struct {
	id    petcat.AccountID
	quota petcat.Quota
}

func newWorld(s *schedule, change mutation) *world {
	w := &world{schedule: s, change: change, random: rand.New(rand.NewPCG(s.seed, 1))}
	w.counters = counterstest.NewReference(1, func() int64 { return w.now + w.ahead })
	w.now = s.begin - int64(time.Hour)
	w.counters.Probe(nil, 0) //nolint:staticcheck,errcheck // the epoch is an old one; the reference needs no context
	w.now = s.begin
	w.store = dayStore{rows: make(map[accountDay]*dayRow), anew: change.leasedAnew}
	w.oracle.init(w)
	for i, q := range s.quotas {
		w.accounts = append(w.accounts, &client{id: petcat.AccountID(i), quota: q})
	}
	w.end = s.begin + int64(s.length)
	w.oracle.tick()
	w.lookAhead()
	for range s.nodes {
		w.join()
	}
	for _, r := range w.rows {
		r.joined -= int64(10 * time.Minute)
	}
	for _, n := range w.nodes {
		n.hear()
	}
	for i, e := range s.events {
		if s.mask.has(i) {
			w.at(s.begin+int64(e.at), func() { w.happen(e) })
		}
	}
	return w
}

// run runs the schedule to its end, or to the first fault of the nodes.
func (w *world) run() error {
	for len(w.events.order) > 0 && w.oracle.fault == nil {
		e := w.events.pop()
		if e.at > w.end {
			break
		}
		w.now = e.at
		w.oracle.tick()
		if n := e.node; n != nil {
			if n.dead {
				continue
			}
			if n.frozenUntil > w.now {
				// What has arrived is read first; timers go off by as much later.
				e.at = n.frozenUntil
				if e.timer {
					e.at += max(0, e.due-n.frozenSince)
				}
				w.push(e)
				continue
			}
		}
		e.do()
	}
	w.oracle.finish()
	return w.oracle.fault
}

// event is something that happens at a moment, to a node or to the world.
type event struct {
	at, due int64
	node    *simNode
	timer   bool // of the node's own, which does not go off while it is frozen
	do      func()
}

func (w *world) push(e event) {
	w.sequence++
	w.events.push(e, w.sequence)
}

func (w *world) at(at int64, do func()) { w.push(event{at: at, due: at, do: do}) }

func (w *world) arrive(n *simNode, after time.Duration, do func()) {
	w.push(event{at: w.now + int64(after), due: w.now + int64(after), node: n, do: do})
}

func (w *world) timer(n *simNode, after time.Duration, do func()) {
	w.push(event{at: w.now + int64(after), due: w.now + int64(after), node: n, timer: true, do: do})
}

// eventHeap is a binary heap of events by time, and by the order of pushes. What is
// moved about holds no pointers.
type eventHeap struct {
	order  []place
	events []event
	free   []int32
}

type place struct {
	at, sequence int64
	event        int32
}

func (p place) before(q place) bool { return p.at < q.at || p.at == q.at && p.sequence < q.sequence }

func (h *eventHeap) push(e event, sequence int64) {
	slot := int32(len(h.events))
	if n := len(h.free); n > 0 {
		slot, h.free = h.free[n-1], h.free[:n-1]
		h.events[slot] = e
	} else {
		h.events = append(h.events, e)
	}
	p := place{e.at, sequence, slot}
	h.order = append(h.order, p)
	s, i := h.order, len(h.order)-1
	for i > 0 && p.before(s[(i-1)/2]) {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = p
}

func (h *eventHeap) pop() event {
	slot := h.order[0].event
	e := h.events[slot]
	h.events[slot] = event{}
	h.free = append(h.free, slot)
	last := len(h.order) - 1
	p := h.order[last]
	s := h.order[:last]
	h.order = s
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].before(s[child]) {
			child++
		}
		if !s[child].before(p) {
			break
		}
		s[i] = s[child]
		i = child
	}
	if len(s) > 0 {
		s[i] = p
	}
	return e
}

// call carries a call to the counters and its answer back, as far as the network
// does. What do returns is called on the node if it arrives; it may be late. A call that
// is doubled is carried out again later, and both answers may arrive.
func (w *world) call(n *simNode, do func(again bool) (answer func())) {
	there, back, lostThere, lostBack := w.trip(n)
	if lostThere {
		return
	}
	carry := func(again bool) {
		if w.countersDown > w.now || n.cutUntil > w.now {
			return
		}
		answer := do(again)
		if lostBack {
			return
		}
		w.arrive(n, back, func() {
			if n.cutUntil <= w.now {
				answer()
			}
		})
	}
	w.at(w.now+int64(there), func() { carry(false) })
	if w.twice() {
		w.at(w.now+int64(there)+w.random.Int64N(int64(100*time.Millisecond)), func() { carry(true) })
	}
}

// twice reports whether something that is sent now is carried out twice.
func (w *world) twice() bool { return w.doubledUntil > w.now && w.random.Float64() < w.doubled }

// calm reports whether a node's calls are certainly answered at once.
func (w *world) calm(n *simNode) bool {
	return max(w.countersDown, w.slowUntil, w.flakyUntil, w.doubledUntil, n.cutUntil) < w.now && n.state.mode == closed && w.nextFault > w.now+int64(timeout)
}

// lookAhead finds when the next fault begins.
func (w *world) lookAhead() {
	w.nextFault = w.end
	for i, e := range w.schedule.events {
		if at := w.schedule.begin + int64(e.at); e.kind != load && w.schedule.mask.has(i) && at > w.now {
			w.nextFault = min(w.nextFault, at)
		}
	}
}

// trip returns how long a call takes to the counters and back, and what is lost.
func (w *world) trip(n *simNode) (there, back time.Duration, lostThere, lostBack bool) {
	delay := func() time.Duration { return time.Duration(100_000 + w.random.Int64N(1_500_000)) }
	there, back = delay(), delay()
	if w.slowUntil > w.now {
		there += time.Duration(w.random.Int64N(int64(60 * time.Millisecond)))
		back += time.Duration(w.random.Int64N(int64(200 * time.Millisecond)))
	}
	if w.flakyUntil > w.now {
		lostThere = w.random.Float64() < w.flaky
		lostBack = w.random.Float64() < w.flaky
	}
	return there, back, lostThere || n.cutUntil > w.now, lostBack
}

// beat writes a node's row and tells it the others.
func (w *world) beat(n *simNode, cutOff uint64) (members []counters.Member, ok bool) {
	if n.noStoreUntil > w.now || w.storeDown > w.now {
		return nil, false
	}
	members, anew := w.rows.beat(n.id, w.now, cutOff)
	if anew {
		w.oracle.rejoins = append(w.oracle.rejoins, w.now)
	}
	return members, true
}

// accountDay and dayRow are the store's rows of days, by the rules of
// [petcat.DayStore].
type accountDay struct {
	account petcat.AccountID
	day     int64
}

type dayRow struct{ count, series, granted int64 }

type dayStore struct {
	rows map[accountDay]*dayRow
	anew bool // a mutant's
}

func (s *dayStore) row(account petcat.AccountID, day int64) *dayRow {
	k := accountDay{account, day}
	if s.rows[k] == nil {
		s.rows[k] = &dayRow{}
	}
	return s.rows[k]
}

func (s *dayStore) lease(account petcat.AccountID, day, want, quota int64) (granted, count int64) {
	r := s.row(account, day)
	granted = max(0, min(want, quota-r.count))
	r.count += granted
	return granted, r.count
}

func (s *dayStore) leaseShared(l petcat.SharedLease) petcat.SharedLeased {
	r := s.row(l.Account, l.Day)
	if r.series == l.Series && r.granted > l.Granted && !s.anew {
		return petcat.SharedLeased{Granted: r.granted, Count: r.count}
	}
	more := max(0, min(l.Want, l.Quota-r.count))
	if more > 0 {
		r.count += more
		r.series, r.granted = l.Series, l.Granted+more
	}
	return petcat.SharedLeased{Granted: l.Granted + more, Count: r.count}
}

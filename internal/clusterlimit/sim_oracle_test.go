package clusterlimit

import (
	"fmt"
	"time"

	"petcat/internal/counters"
)

// oracle knows what the network and the servers truly did, and nothing of what nodes
// think. It counts what was admitted in each window, and holds it against the bounds.
//
// A window begins when the counters' clock shows a later minute than before: a clock
// that is set forward begins one, a clock that is set back does not.
type oracle struct {
	w       *world
	windows []*window
	ofIndex map[int64]int // the last window of a minute's index
	minute  int64
	fault   error

	faults   []interval // in the way to the counters
	dbFaults []interval // in the way to the database, and pauses
	joins    []int64
	rejoins  []int64 // when a node joined anew
	begins   bool    // an epoch begins with the next call

	inFlight []int64 // of each account
	waiting  []int64 // of each account: when it was first refused since one was admitted; 0: it was not
	last     []int64 // of each account: when it was last refused
	stepped  int64   // when the clock was last set
	steps    int
	days     map[accountDay]*dayStat
	// local is what each node has admitted of each account that the counters cannot know of:
	// it was leased by the node, which has not told them since, and no block was granted since.
	local []map[*simNode]int64
	seen  seen
}

// seen counts what a run led to.
type seen struct {
	shared, local, refusedWhole, refusedByShare, errors, windows, outages, epochs, knownCutOff, exact, daysSpent int64
}

func (s *seen) add(o seen) {
	s.shared += o.shared
	s.local += o.local
	s.refusedWhole += o.refusedWhole
	s.refusedByShare += o.refusedByShare
	s.errors += o.errors
	s.windows += o.windows
	s.outages += o.outages
	s.epochs += o.epochs
	s.knownCutOff += o.knownCutOff
	s.exact += o.exact
	s.daysSpent += o.daysSpent
}

type interval struct {
	node     *simNode // nil: all
	from, to int64
}

func (i interval) overlaps(from, to int64) bool { return i.from <= to && i.to >= from }

// window is what happened in one window.
type window struct {
	begin, end int64
	epoch      bool // one began
	calls      int  // charges that the counters executed
	probes     int  // and probes
	accounts   []stat
}

type stat struct {
	least, most   int64 // the quota's
	executed      int64 // admitted by the counters
	shared, local int64 // of those, told to the client; and admitted by nodes
	sent          int64
	byNode        map[*simNode][2]int64 // decided, admitted
	unreported    int64                 // admitted by nodes whose report of it did not arrive
	byDay         bool                  // somebody was refused by the day
}

func (o *oracle) init(w *world) {
	o.w = w
	o.ofIndex = make(map[int64]int)
	o.days = make(map[accountDay]*dayStat)
	o.inFlight = make([]int64, len(w.schedule.quotas))
	o.waiting = make([]int64, len(w.schedule.quotas))
	o.last = make([]int64, len(w.schedule.quotas))
	for range w.schedule.quotas {
		o.local = append(o.local, make(map[*simNode]int64))
	}
}

func (o *oracle) failf(format string, args ...any) {
	if o.fault == nil {
		o.fault = fmt.Errorf("at %s: %s", o.time(o.w.now), fmt.Sprintf(format, args...))
	}
}

// time is a moment since the schedule's begin.
func (o *oracle) time(at int64) time.Duration {
	return time.Duration(at - o.w.schedule.begin).Round(time.Millisecond / 10)
}

// tick begins a window when it is time.
func (o *oracle) tick() {
	minute := minuteOf(o.w.now + o.w.ahead)
	if len(o.windows) > 0 && minute <= o.minute {
		o.minute = minute
		o.ofIndex[minute] = len(o.windows) - 1
		return
	}
	if len(o.windows) > 0 {
		o.windows[len(o.windows)-1].end = o.w.now
	}
	next := &window{begin: o.w.now, accounts: make([]stat, len(o.w.accounts))}
	for i := range next.accounts {
		q := o.w.accounts[i].quota.PerMinute
		next.accounts[i] = stat{least: q, most: q, sent: o.inFlight[i], byNode: make(map[*simNode][2]int64)}
	}
	o.windows = append(o.windows, next)
	o.minute = minute
	o.ofIndex[minute] = len(o.windows) - 1
}

func (o *oracle) current() *window { return o.windows[len(o.windows)-1] }

// of returns the window of a request: that in which the counters executed it, which a node that
// stood still may tell later, or by the time at which the node thinks that it decided it.
// A node that does not know that the clock was set may call the window by a name that an
// earlier one had, too, which was over when the request was sent. One whose idea of the
// counters' clock is late means the earlier one: it is at the end of a minute then.
func (o *oracle) of(r *simRequest, now int64) *window {
	if now == r.facts.Now {
		return r.executedIn
	}
	i, ok := o.ofIndex[minuteOf(now)]
	if !ok {
		return o.current()
	}
	w, lag := o.windows[i], int64(time.Second)
	if now%int64(time.Minute) < int64(time.Minute)-lag {
		lag = 0
	}
	if o.steps > 0 && w.end != 0 && w.end < r.sent-lag {
		return o.current()
	}
	return w
}

// chargedLate takes note of requests that are counted a minute later, when their clients
// were answered long ago.
func (o *oracle) chargedLate(charges []counters.Charge) {
	for _, c := range charges {
		o.current().accounts[c.Account].sent += c.Requests
	}
}

// chargedAgain takes note of a call that is carried out twice: what it asks and tells is
// counted twice.
func (o *oracle) chargedAgain(charges []counters.Charge) {
	for _, c := range charges {
		o.current().accounts[c.Account].sent += c.Requests + c.Reported
	}
}

// reportsLost takes note of reports that did not arrive. They are not made again.
func (o *oracle) reportsLost(charges []counters.Charge) {
	for _, c := range charges {
		if i, ok := o.ofIndex[c.Minute]; ok {
			o.windows[i].accounts[c.Account].unreported += c.Reported
		}
	}
}

// decided counts a request that a node decided, and whether it was admitted.
func (s *stat) decided(n *simNode, admitted int64) {
	c := s.byNode[n]
	s.byNode[n] = [2]int64{c[0] + 1, c[1] + admitted}
}

func (o *oracle) quotaChanged(c *client) {
	s := &o.current().accounts[c.id]
	s.least, s.most = min(s.least, c.quota.PerMinute), max(s.most, c.quota.PerMinute)
}

func (o *oracle) sent(r *simRequest) {
	s := &o.current().accounts[r.client.id]
	s.sent++
	o.inFlight[r.client.id]++
}

// answered takes note that a request was decided.
func (o *oracle) answered(r *simRequest) bool {
	if r.over {
		o.failf("a request of account %d was answered twice", r.client.id)
		return false
	}
	r.over = true
	o.inFlight[r.client.id]--
	return true
}

// charging is a call that the counters execute.
func (o *oracle) charging() {
	o.current().calls++
	o.reached()
}

// probed is a probe that the counters execute.
func (o *oracle) probed() {
	o.current().probes++
	o.reached()
}

func (o *oracle) reached() {
	if o.begins {
		o.begins = false
		o.current().epoch = true
	}
}

// charged takes note of charges of a node that the counters execute.
func (o *oracle) charged(n *simNode, charges []counters.Charge, told []int64, facts []counters.Facts) {
	for i, f := range facts {
		id := charges[i].Account
		s := &o.current().accounts[id]
		s.executed += f.Admitted
		o.day(o.w.accounts[id], f.Now).unanswered += f.Admitted
		if f.Day.Known {
			o.local[id][n] = max(0, o.local[id][n]-told[i])
		}
		if f.Day.Owed > 0 {
			// The store is unavailable: what other nodes have leased nobody has told.
			for other, admitted := range o.local[id] {
				if other != n {
					o.day(o.w.accounts[id], f.Now).excused += admitted
					o.local[id][other] = 0
				}
			}
		}
		if f.Admitted > 0 {
			o.waiting[charges[i].Account] = 0
		}
	}
}

func (o *oracle) admittedShared(n *simNode, r *simRequest) {
	if !o.answered(r) {
		return
	}
	o.seen.shared++
	s := &o.of(r, r.facts.Now).accounts[r.client.id]
	s.shared++
	s.decided(n, 1)
	o.day(r.client, r.facts.Now).unanswered--
	o.admitOfDay(r.client, r.facts.Now)
}

func (o *oracle) admittedLocally(n *simNode, r *simRequest) {
	if !o.answered(r) {
		return
	}
	o.seen.local++
	s := &o.of(r, r.v.now).accounts[r.client.id]
	s.local++
	s.decided(n, 1)
	o.waiting[r.client.id] = 0
	o.admitOfDay(r.client, r.v.now)
}

func (o *oracle) errored(n *simNode, r *simRequest) {
	if !o.answered(r) {
		return
	}
	o.seen.errors++
	a := n.account(r.client.id)
	switch {
	case !n.storeAway():
		o.failf("node %s answers 503 to account %d though the store is there", n.id, r.client.id)
	case a.dayKnown && a.day == dayOf(r.facts.Now):
		o.failf("node %s answers 503 to account %d though it knows the day", n.id, r.client.id)
	}
}

// fell: a node takes the counters for lost.
func (o *oracle) fell(n *simNode) {
	if !o.troubled(n, o.w.now-int64(time.Second)-o.frozenFor(n, o.w.now, o.w.now), o.w.now) {
		o.failf("node %s takes the counters for lost, which answer", n.id)
	}
}

// troubled reports whether a node's way to the counters was bad at some time, or any
// node's if there is none.
func (o *oracle) troubled(n *simNode, from, to int64) bool {
	for _, i := range o.faults {
		if (n == nil || i.node == nil || i.node == n) && i.overlaps(from, to) {
			return true
		}
	}
	return false
}

// recovery is how long after a fault a node that is not frozen is closed again.
const recovery = 3 * time.Second

// heardWithin is how long it takes until all nodes have heard what one says.
const heardWithin = 2 * heartbeatCutOff

// refused checks that there was reason to refuse. Whole says that the client was told
// that its whole quota is used up, which can lead to a ban.
func (o *oracle) refused(n *simNode, r *simRequest, whole bool) {
	if !o.answered(r) {
		return
	}
	now := r.v.now
	if r.facts.Now != 0 {
		now = r.facts.Now
	}
	w := o.of(r, now)
	s := &w.accounts[r.client.id]
	a := n.account(r.client.id)
	byDay := r.facts.Day.Known && r.facts.Day.Used() >= r.client.quota.PerDay || a.dayKnown && a.dayUsed >= r.client.quota.PerDay || o.w.schedule.smallDays
	s.byDay = s.byDay || byDay
	s.decided(n, 0)
	if !whole {
		o.seen.refusedByShare++
		if o.well(n, w) {
			o.failf("node %s refuses account %d by its share while all is well (%s, %+v)", n.id, r.client.id, n.state.mode, r.v)
		}
		return
	}
	o.seen.refusedWhole++
	if byDay {
		o.dayRefused(n, r)
		return
	}
	if o.steps == 0 && s.sent <= s.least {
		o.failf("node %s tells account %d that its whole quota of %d is used up, of which %d were sent", n.id, r.client.id, s.least, s.sent)
	}
	// Who was silent for a window begins to wait anew.
	since, last := &o.waiting[r.client.id], &o.last[r.client.id]
	if *since == 0 || o.w.now-*last > int64(time.Minute) {
		*since = o.w.now
	}
	*last = o.w.now
	// After a step of the clock back, the rest of the minute that it is then comes on
	// top for who sent nothing in it.
	most := 61 * time.Second
	if o.steps > 0 {
		most += time.Minute
	}
	if waits := time.Duration(o.w.now - max(*since, o.stepped)); waits > most {
		o.failf("account %d has waited for %s", r.client.id, waits)
	}
	if o.well(n, w) && s.executed+s.local < s.least {
		o.failf("node %s refuses account %d, which has %d of %d, while all is well", n.id, r.client.id, s.executed+s.local, s.least)
	}
}

// well reports whether nothing was wrong that could concern a node's decision in a
// window: then exactly the quota is admitted.
func (o *oracle) well(n *simNode, w *window) bool {
	now := o.w.now
	if w.epoch || o.begins || o.steps > 0 || now-n.heardAt > int64(3*time.Second) || n.frozenUntil > now-int64(time.Second) {
		return false
	}
	if o.troubled(nil, min(w.begin-int64(recovery), now-int64(recovery+heardWithin)), now) {
		return false
	}
	for _, r := range o.w.rows {
		if r.cutOff != 0 && now-r.seen < int64(35*time.Second) {
			return false
		}
	}
	for _, i := range o.dbFaults { // a node that was frozen comes back later
		if i.node == nil || i.overlaps(w.begin-int64(recovery), now) {
			return false
		}
	}
	return true
}

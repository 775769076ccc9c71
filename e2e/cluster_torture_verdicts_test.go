package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat/internal/stalltest"
)

// machine is how the machine and the nodes did.
type machine struct {
	control *stalltest.Control

	mu      sync.Mutex
	samples []sample      // guarded by mu
	longest time.Duration // stall; guarded by mu
}

// sample is what a node told of itself at a moment.
type sample struct {
	at       time.Time
	node     *tortureNode
	series   [len(sampled)]float64
	lateness bool // more calls were late, or decided without the counters, than before
	stalled  bool // the machine, since the samples before
}

// sampled is which series a node is asked for.
var sampled = [...]string{
	localTotal: "petcat_limiter_local_total", failuresTotal: "petcat_limiter_failures_total", sharedTotal: "petcat_limiter_shared_total",
	degraded: "petcat_limiter_degraded", "petcat_nodes", "petcat_store_up",
}

const localTotal, failuresTotal, sharedTotal, degraded = 0, 1, 2, 3

// sampleEvery is how often nodes are asked.
const sampleEvery = 2 * time.Second

// watch looks at the machine and at all nodes until the test is over.
func (x *clusterTorture) watch(over <-chan struct{}) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	before := make(map[*tortureNode]sample)
	for tick := time.NewTicker(sampleEvery); ; {
		select {
		case <-over:
			tick.Stop()
			return
		case <-tick.C:
		}
		stood := x.machine.control.Lap()
		x.machine.mu.Lock()
		x.machine.longest = max(x.machine.longest, stood)
		x.machine.mu.Unlock()
		for _, n := range x.routes() {
			if s, ok := n.sample(client); ok {
				last := before[n]
				s.stalled = stood >= stalltest.Stall
				s.lateness = s.series[localTotal] > last.series[localTotal] || s.series[failuresTotal] > last.series[failuresTotal]
				before[n] = s
				x.machine.mu.Lock()
				x.machine.samples = append(x.machine.samples, s)
				x.machine.mu.Unlock()
			}
		}
	}
}

var seriesLine = regexp.MustCompile(`(?m)^(petcat_\w+) (\S+)$`)

func (n *tortureNode) sample(client *http.Client) (s sample, ok bool) {
	res, err := client.Get(n.admin + "/metrics")
	if err != nil {
		return s, false // it was killed or frozen
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	s = sample{at: time.Now(), node: n}
	for _, found := range seriesLine.FindAllSubmatch(text, -1) {
		if i := slices.Index(sampled[:], string(found[1])); i >= 0 {
			_, _ = fmt.Sscan(string(found[2]), &s.series[i])
		}
	}
	return s, err == nil
}

// tell returns what nodes told of themselves between two moments.
func (m *machine) tell(from, to time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, s := range m.samples {
		if s.at.After(from) && s.at.Before(to) && (s.lateness || s.series[degraded] > 0) {
			fmt.Fprintf(&b, "\n  %s %s: late %t, machine stalled %t,", clockTime(s.at), s.node, s.lateness, s.stalled)
			for i, name := range sampled {
				fmt.Fprintf(&b, " %s %g", strings.TrimPrefix(name, "petcat_"), s.series[i])
			}
		}
	}
	return b.String()
}

// mostWrong is how many findings are told in full.
const mostWrong = 20

// verdicts is what was found.
type verdicts struct {
	t testing.TB

	mu    sync.Mutex
	found int // guarded by mu

	// Of check alone:
	outcomes [outcomes]int64
	void     map[time.Time]bool
	late     int
	calm     decisions // by nodes that no fault hit, while the machine did not stall
	kinds    map[string]*kindOfMinute
}

// kindOfMinute is minutes with the same bound.
type kindOfMinute struct {
	minutes, exact int
	worst          float64 // admitted in parts of the quota
	most           string
}

// wrong is a finding.
func (v *verdicts) wrong(format string, args ...any) {
	v.mu.Lock()
	v.found++
	found := v.found
	v.mu.Unlock()
	if found > mostWrong {
		v.t.Fail()
		return
	}
	v.t.Errorf(format, args...)
}

// wrongMinute is a finding in an account's minute. It tells what led to it.
func (x *clusterTorture) wrongMinute(a *tortureAccount, begin time.Time, u *use, b bound, format string, args ...any) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%d a minute) in the minute from %s, when %s (%s): %s", a.name, a.quota.PerMinute, clockTime(begin), b.name, b, fmt.Sprintf(format, args...))
	fmt.Fprintf(&text, "\n  %d sent, %d admitted at its edges", u.sent, u.edge+a.carry)
	for o, n := range u.count {
		fmt.Fprintf(&text, ", %d %s", n, outcome(o))
	}
	fmt.Fprintf(&text, "; admitted by node: %v", u.byNode)
	end := begin.Add(time.Minute)
	x.verdicts.wrong("%s%s%s%s", text.String(), x.incidents.tell(begin.Add(-90*time.Second), end),
		x.machine.tell(begin.Add(-5*time.Second), end.Add(5*time.Second)), a.tell(nil, begin.Add(-clockLag), end))
}

// tell returns what happened between two moments.
func (i *incidents) tell(from, to time.Time) string {
	var text strings.Builder
	for _, f := range i.between(from, to) {
		fmt.Fprintf(&text, "\n  %s", f)
	}
	return text.String()
}

// tell returns what became of an account's requests between two moments, on one node or
// on all.
func (a *tortureAccount) tell(n *tortureNode, from, to time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var text strings.Builder
	for _, e := range a.events {
		if e.received >= from.UnixNano() && e.sent <= to.UnixNano() && (n == nil || e.node == int32(n.number)) {
			fmt.Fprintf(&text, "\n    %s node %d: %s after %s", clockTime(time.Unix(0, e.sent)), e.node, e.outcome, time.Duration(e.received-e.sent).Round(time.Millisecond/10))
		}
	}
	return text.String()
}

// count takes note of what became of an account's requests.
func (v *verdicts) count(uses map[int64]*use, from, to int64) {
	for minute, u := range uses {
		if minute >= from && minute <= to {
			for o, n := range u.count {
				v.outcomes[o] += n
			}
			v.outcomes[admitted] += u.edge
		}
	}
}

// minute takes note of a minute that is checked.
func (v *verdicts) minute(b bound, l lateness) {
	k := v.kinds[b.name]
	if k == nil {
		k = &kindOfMinute{most: b.String()}
		v.kinds[b.name] = k
	}
	k.minutes++
	if b.exact {
		k.exact++
	}
	if l.late {
		v.late++
	}
	v.calm = v.calm.plus(l.calm)
}

// admits takes note of how much of a quota was admitted.
func (v *verdicts) admits(b bound, total, quota int64) {
	k := v.kinds[b.name]
	k.worst = max(k.worst, float64(total)/float64(quota))
}

// voided takes note of a minute that the machine spoilt.
func (v *verdicts) voided(begin time.Time) { v.void[begin] = true }

// summary tells where the test stands.
func (v *verdicts) summary(x *clusterTorture) {
	var b strings.Builder
	fmt.Fprintf(&b, "until %s:", clockTime(time.Unix(60*x.checked, 0)))
	for o, n := range v.outcomes {
		fmt.Fprintf(&b, " %d %s,", n, outcome(o))
	}
	v.mu.Lock()
	fmt.Fprintf(&b, " %d findings; the machine made the counters late in %d minutes and spoilt %d; while it was calm, nodes that no fault hit decided %d of %d requests by themselves",
		v.found, v.late, len(v.void), v.calm.local, v.calm.all)
	v.mu.Unlock()
	x.machine.mu.Lock()
	fmt.Fprintf(&b, "; it stood still for %s at most", x.machine.longest.Round(time.Millisecond))
	x.machine.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(v.kinds)) {
		k := v.kinds[name]
		fmt.Fprintf(&b, "\n  %s: %d minutes, %d of them exact; at most %.2f of a quota, want %s", name, k.minutes, k.exact, k.worst, k.most)
	}
	var kinds [faultKinds]int
	for _, f := range x.incidents.between(x.begin, time.Now()) {
		kinds[f.kind]++
	}
	for kind, n := range kinds {
		if n > 0 {
			fmt.Fprintf(&b, "\n  %s: %d", faultKind(kind), n)
		}
	}
	x.t.Log(b.String())
}

package e2e

import (
	"slices"
	"testing"
	"time"
)

// lateness is what the nodes that no fault hit told of the counters around a minute.
type lateness struct {
	late    bool  // some calls were, and the machine stalled or PostgreSQL was to answer
	local   int64 // how many requests these nodes decided by themselves
	unknown bool  // one of them was not asked after the minute: it had ended
	calm    decisions
}

// decisions is how many requests nodes decided by themselves, of so many.
type decisions struct{ local, all int64 }

// mostLocalOf: of so many requests, nodes that no fault hit decide one by themselves at most
// while the machine does not stall. A call may be late now and then, but the counters decide.
const mostLocalOf = 20

func (d decisions) plus(o decisions) decisions { return decisions{d.local + o.local, d.all + o.all} }

func (d decisions) tooManyLocal() bool { return d.local*mostLocalOf > d.all }

// excess returns how many requests above its bound an account may be admitted: those that
// nodes decided by themselves, as far as these may be known.
func (l lateness) excess(quota int64) int64 {
	switch {
	case !l.late:
		return 0
	case l.unknown:
		return quota
	}
	return min(quota, l.local)
}

// explains reports whether so many requests may have been admitted above the bounds of all
// accounts together. Each was decided by a node.
func (l lateness) explains(excess int64) bool { return l.unknown || excess <= l.local }

// lateness returns what nodes told of a minute, but for those that a fault hit.
func (m *machine) lateness(begin time.Time, hit, nodes []*tortureNode, database bool) (l lateness) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range nodes {
		if !slices.Contains(hit, n) {
			l.add(m.samples, n, begin, database)
		}
	}
	return l
}

// add adds what one node told. From its last sample before the minute to its first one after
// it, with some seconds to spare, it decided what it decided in the minute.
func (l *lateness) add(samples []sample, n *tortureNode, begin time.Time, database bool) {
	end := begin.Add(time.Minute)
	var last sample
	for _, s := range samples {
		if s.node != n {
			continue
		}
		local, shared := s.series[localTotal]-last.series[localTotal], s.series[sharedTotal]-last.series[sharedTotal]
		last = s
		if !s.at.After(begin.Add(-recovery)) {
			continue
		}
		l.local += int64(local)
		if !s.at.Before(end.Add(recovery)) {
			return
		}
		l.late = l.late || s.lateness && (s.stalled || database)
		if !s.stalled && !s.at.Before(begin) && s.at.Before(end) {
			l.calm = l.calm.plus(decisions{int64(local), int64(local + shared)})
		}
	}
	l.unknown = true
}

// TestLateness: what late answers excuse is what nodes decided by themselves because of them,
// and counters that are late all the time are a finding.
func TestLateness(t *testing.T) {
	t.Parallel()
	begin := time.Unix(60_000, 0)
	well, hit := &tortureNode{number: 1}, &tortureNode{number: 2}
	// told is a node's samples, one every 2 s from 10 s before the minute: each says how many
	// more requests it has decided by itself and the counters for it.
	told := func(n *tortureNode, stalled bool, seconds int, local, shared map[int]float64) (samples []sample) {
		var last sample
		for second := -10; second <= seconds; second += 2 {
			s := sample{at: begin.Add(time.Duration(second) * time.Second), node: n, series: last.series, stalled: stalled}
			s.series[localTotal] += local[second]
			s.series[sharedTotal] += shared[second]
			s.lateness = local[second] > 0
			samples, last = append(samples, s), s
		}
		return samples
	}
	always := func(often float64) map[int]float64 {
		counts := make(map[int]float64)
		for second := -10; second <= 80; second += 2 {
			counts[second] = often
		}
		return counts
	}
	const quota = 60
	for name, tc := range map[string]struct {
		samples  []sample
		database bool
		excess   int64 // of an account
		all      int64 // of all accounts
		slow     bool
	}{
		"nobody was late":                      {told(well, false, 80, nil, always(20)), true, 0, 0, false},
		"PostgreSQL was late once":             {told(well, false, 80, map[int]float64{30: 3}, always(20)), true, 3, 3, false},
		"Redis was":                            {told(well, false, 80, map[int]float64{30: 3}, always(20)), false, 0, 3, false},
		"Redis was, and the machine stalled":   {told(well, true, 80, map[int]float64{30: 3}, always(20)), false, 3, 3, false},
		"PostgreSQL was late at the very end":  {told(well, false, 80, map[int]float64{62: 3, 64: 1}, always(20)), true, 4, 4, false},
		"it was long before, and afterwards":   {told(well, false, 80, map[int]float64{-10: 5, -4: 5, 66: 5}, always(20)), true, 0, 0, false},
		"it was late for more than a quota":    {told(well, false, 80, map[int]float64{30: 100}, always(20)), true, quota, 100, true},
		"it always is":                         {told(well, false, 80, always(2), always(20)), true, quota, 34 * 2, true},
		"it always is, and the machine stalls": {told(well, true, 80, always(2), always(20)), true, quota, 34 * 2, false},
		"a fault hit the node":                 {told(hit, false, 80, always(20), nil), true, 0, 0, false},
		"the node ended":                       {told(well, false, 40, map[int]float64{30: 3}, always(20)), true, quota, quota * 1_000, false},
	} {
		m := machine{samples: append(tc.samples, told(hit, false, 80, always(7), nil)...)}
		nodes := []*tortureNode{tc.samples[0].node, hit}
		l := m.lateness(begin, []*tortureNode{hit}, nodes, tc.database)
		if got := l.excess(quota); got != tc.excess {
			t.Errorf("%s: an account may be admitted %d more, want %d", name, got, tc.excess)
		}
		if !l.explains(tc.all) || !l.unknown && l.explains(tc.all+1) {
			t.Errorf("%s: %+v does not explain exactly %d more of all accounts", name, l, tc.all)
		}
		if l.calm.tooManyLocal() != tc.slow {
			t.Errorf("%s: %+v: too many is %t", name, l.calm, !tc.slow)
		}
	}
}

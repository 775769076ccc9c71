package clusterlimit

import (
	"time"

	"petcat/internal/counters"
)

func (n *simNode) probeSoon() {
	if n.probing {
		n.soon = true
		return
	}
	n.probe(timeout)
}

// probe asks whether the counters are there, reports, and goes on to the next probe.
func (n *simNode) probe(timeout time.Duration) {
	n.probing, n.soon = true, false
	n.probes++
	if n.w.calm(n) { // most are: so they are done at once
		n.w.oracle.probed()
		epoch, now, _ := n.w.counters.Probe(nil, 0) //nolint:staticcheck // the reference needs no context
		n.probed(epoch, now, n.mono())
		return
	}
	n.probeSlowly(timeout)
}

// probed takes note of a probe that was answered.
func (n *simNode) probed(epoch counters.Epoch, now, asked int64) {
	n.clock.observe(now, asked)
	n.state = n.state.answered(n.mono(), n.w.change.epoch(epoch), len(n.unreported) == 0)
	n.flush()
}

func (n *simNode) probeSlowly(timeout time.Duration) {
	over, asked := false, n.mono()
	n.w.call(n, func(bool) func() {
		n.w.oracle.probed()
		epoch, now, _ := n.w.counters.Probe(nil, 0) //nolint:staticcheck // the reference needs no context
		return func() {
			if !over {
				over = true
				n.probed(epoch, now, asked)
			}
		}
	})
	n.w.timer(n, timeout, func() {
		if over {
			return
		}
		over = true
		n.state = n.state.unanswered(n.mono())
		n.w.oracle.fell(n)
		n.nextProbe()
	})
}

// flush reports what this node admitted by itself.
func (n *simNode) flush() {
	ids := n.unreported
	n.unreported = nil
	var charges []counters.Charge
	for _, id := range ids {
		if c := n.begin(id); c.Reported > 0 {
			charges = append(charges, c)
		}
	}
	if len(charges) == 0 {
		n.nextProbe()
		return
	}
	n.charge(n.stopwatch(), charges, func(_ []counters.Facts, err error) {
		if err != nil {
			for _, c := range charges {
				n.report(c.Account)
			}
		}
		n.nextProbe()
	})
}

func (n *simNode) nextProbe() {
	n.ready = true
	every := n.state.untilProbe(n.mono())
	if n.soon {
		every = 0
	}
	n.probing = false
	turn := n.probes
	n.w.timer(n, every, func() {
		if n.probes == turn { // none was asked for meanwhile
			n.probe(timeout)
		}
	})
}

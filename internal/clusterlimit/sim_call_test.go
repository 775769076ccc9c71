package clusterlimit

import (
	"errors"
	"time"

	"petcat"
	"petcat/internal/counters"
)

func (n *simNode) begin(id petcat.AccountID) counters.Charge {
	c := counters.Charge{Account: id, Series: n.newID()}
	n.account(id).report(&c)
	return c
}

func (n *simNode) newID() int64 { return n.w.random.Int64N(1<<48-1) + 1 }

var errTimeout = errors.New("no answer in time")

// charge sends charges once and takes note of what comes of it, for requests that wait since
// a moment.
func (n *simNode) charge(since int64, charges []counters.Charge, done func([]counters.Facts, error)) {
	epoch, asked, told := n.state.epoch, n.mono(), n.w.oracle.toBeTold(n, charges)
	over, executed, begun := false, false, n.w.oracle.current()
	answer := func(facts []counters.Facts, err error) {
		if over {
			return
		}
		over = true
		if wrong, is := errors.AsType[*counters.WrongEpoch](err); is {
			n.state = n.state.in(n.mono(), n.w.change.epoch(wrong.Now))
			for _, c := range charges {
				n.account(c.Account).unreport(c)
			}
			done(nil, err)
			return
		}
		n.clock.observe(facts[0].Now, asked)
		for i, f := range facts {
			n.account(charges[i].Account).learn(charges[i], f)
		}
		done(facts, nil)
	}
	n.w.call(n, func(again bool) func() {
		n.w.oracle.charging()
		facts, err := n.w.charge(epoch, charges)
		if err == nil {
			if again && executed {
				n.w.oracle.chargedAgain(charges)
			} else if over && n.w.oracle.current() != begun {
				n.w.oracle.chargedLate(charges)
			}
			n.w.oracle.charged(n, charges, told, facts)
			executed = true
			clear(told) // it is told once
		}
		in := n.w.oracle.current()
		return func() {
			n.answeredIn = in
			answer(facts, err)
		}
	})
	n.w.timer(n, n.wait()-time.Duration(n.stopwatch()-since), func() {
		if over {
			return
		}
		over = true
		if n.w.change.tellAgain {
			for _, c := range charges {
				n.account(c.Account).unreport(c)
				n.report(c.Account)
			}
		}
		if !executed {
			n.w.oracle.reportsLost(charges)
		}
		n.late()
		done(nil, errTimeout)
	})
}

// wait returns how long a request waits for the counters now.
func (n *simNode) wait() time.Duration {
	return n.members.wait(n.view(0).began(), timeout)
}

func (n *simNode) late() {
	if n.w.change.renewed && n.state.mode == closed {
		for _, a := range n.accounts {
			a.quota, a.spent = 0, 0
		}
	}
	n.state = n.state.late(n.mono())
	n.w.oracle.fell(n)
	n.probeSoon()
}

package clusterlimit

import (
	"petcat/internal/counters"
)

// mutation is a fault that nodes are given, to see whether the simulation finds it.
type mutation struct {
	silentAreCutOff   bool // others leave room for nodes that are silent, not for those that say that they are cut off
	wholeAlone        bool // each node admits the whole quota while the counters are unavailable
	epochUnseen       bool // a new epoch is taken for an old one
	shareRefusesWhole bool // refusals by a share count as refusals by the whole quota
	clockNeverFalls   bool // the counters' clock is never set back
	floorShares       bool // the remainder of the division goes to nobody
	noRoom            bool // others leave no room for a node that is cut off
	joinsAtOnce       bool // a node has a share as soon as its row is written
	tellAgain         bool // what may have been told is told again
	renewed           bool // the budget is renewed when the counters are lost again
	closedForgotten   bool // what the counters alone admit does not come out of a budget that is set
	spentForgotten    bool // what the counters admit does not come out of the budget

	// Of days.
	leasedAnew      bool // a lease that is made again leases another block
	grantedAnew     bool // a grant that arrives again adds its block again
	blockKept       bool // what is left of a block is kept over an epoch
	knownDayUnused  bool // what a node knows of the day is of no use when the store is unavailable
	lostLeaseBlinds bool // a lease that was lost has the node answer 503 to all accounts
}

// grant is a grant that arrives again.
func (m mutation) grant(g counters.Grant, leased, known int64) counters.Grant {
	if m.grantedAnew {
		g.Granted = known + leased
	}
	return g
}

func (m mutation) view(v view) view {
	if m.wholeAlone && v.mode == open {
		v.members = &Membership{} // the only one
	}
	return v
}

func (m mutation) epoch(e counters.Epoch) counters.Epoch {
	if m.epochUnseen {
		e.Began = 0
	}
	return e
}

// floored takes a request back that a floored share does not admit.
func (m mutation) floored(a *account, v view, w way) way {
	if nodes := v.share().nodes; w == admitLocally && nodes > 0 && a.spent > a.quota/nodes {
		a.release(a.minute, true)
		return refuseByShare
	}
	return w
}

func (w *world) charge(e counters.Epoch, charges []counters.Charge) ([]counters.Facts, error) {
	if w.change.blockKept {
		w.counters.Adopt(0)
	}
	if w.change.clockNeverFalls {
		now := w.ahead
		w.highest = max(w.highest, w.now+w.ahead)
		w.ahead = w.highest - w.now
		defer func() { w.ahead = now }()
	}
	return w.counters.Charge(nil, 0, e, charges) //nolint:staticcheck // the reference needs no context
}

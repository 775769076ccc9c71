package redislimit

import (
	"time"

	"petcat"
)

// grantPatience is how long the server may be away before a block that was
// leased for it is given up: a little less than the server remembers leases.
const grantPatience = 100 * time.Second

// grant is a block that was leased and that the server is to be told of.
type grant struct {
	job      *job
	token    string
	got      petcat.DayLeased
	giveUpAt int64 // monotonic clock
}

// grantAll tells the server what was leased, and lets the waiters look again.
func (le *leaser) grantAll(jobs []*job, got []petcat.DayLeased) {
	giveUpAt := le.l.options.Clock.Read().Mono + int64(grantPatience)
	grants := make([]grant, len(jobs))
	le.setSent(jobs, true)
	for i, j := range jobs {
		le.serial++
		grants[i] = grant{job: j, token: le.l.node + "_" + number(le.serial), got: got[i], giveUpAt: giveUpAt}
	}
	if unanswered := le.grant(grants); len(unanswered) > 0 {
		le.ungranted = append(le.ungranted, unanswered...)
		le.late.Store(true)
	}
	for _, j := range jobs {
		le.finish(j)
	}
}

// grant sends grants, and returns those whose outcome is not known. They can be
// sent again: the server counts a lease once.
func (le *leaser) grant(grants []grant) (unanswered []grant) {
	calls := make([]call, len(grants))
	for i, g := range grants {
		calls[i] = call{
			keys: []string{le.l.keys.account(g.job.account), le.l.keys.lease(g.job.account, g.token)},
			args: []string{le.l.node, number(g.job.day), number(g.got.Granted), number(g.got.Count), number(g.job.second)},
		}
	}
	replies := le.runAll(le.l.lifetime, le.l.scripts.grant, calls)
	for i, g := range grants {
		switch r := replies[i]; {
		case r.err != nil:
			unanswered = append(unanswered, g)
		case r.numbers[0] == 1 && g.got.Granted > 0:
			le.giveBack(petcat.DayReturn{Account: g.job.account, Day: g.job.day, Unused: g.got.Granted})
		}
	}
	return unanswered
}

// grantAgain sends what was not answered. What cannot be told in time is lost
// to its account: it may have been counted.
func (le *leaser) grantAgain() {
	if len(le.ungranted) == 0 || le.l.client.Load() == nil {
		return
	}
	now := le.l.options.Clock.Read().Mono
	var still []grant
	for _, g := range le.ungranted {
		if now < g.giveUpAt {
			still = append(still, g)
		}
	}
	le.ungranted = le.grant(still)
	le.late.Store(len(le.ungranted) > 0)
}

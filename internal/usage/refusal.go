package usage

import (
	"context"
	"maps"
	"slices"
	"sync"

	"petcat"
)

const (
	// waitingAccounts is the largest number of accounts whose refusals wait to be written:
	// some 20 MB. The refusals of further accounts are only counted.
	waitingAccounts = 4_096
	// refusalAccounts is how many accounts one write contains, and refusalWrites how many
	// writes a Flush makes, at most.
	refusalAccounts = 100
	refusalWrites   = 5
)

// refusals are the last refusals of each account that are not written yet.
type refusals struct {
	mu      sync.Mutex
	waiting map[petcat.AccountID][]petcat.Refusal // oldest first; guarded by mu
}

// Refused records a refused or failed request of an account. Flush writes it.
func (r *Recorder) Refused(account petcat.AccountID, refusal petcat.Refusal) {
	r.refusals.mu.Lock()
	defer r.refusals.mu.Unlock()
	r.refusals.add(account, refusal)
}

func (r *refusals) add(account petcat.AccountID, more ...petcat.Refusal) {
	all, known := r.waiting[account]
	switch {
	case r.waiting == nil:
		r.waiting = make(map[petcat.AccountID][]petcat.Refusal)
	case !known && len(r.waiting) >= waitingAccounts:
		return
	}
	all = append(all, more...)
	if over := len(all) - petcat.RecentRefusals; over > 0 {
		all = slices.Delete(all, 0, over)
	}
	r.waiting[account] = all
}

// take returns the waiting refusals of some accounts, and removes them.
func (r *refusals) take() (taken []petcat.AccountRefusals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for account, all := range maps.All(r.waiting) {
		if len(taken) == refusalAccounts {
			break
		}
		taken = append(taken, petcat.AccountRefusals{Account: account, Refusals: all})
		delete(r.waiting, account)
	}
	return taken
}

// putBack puts taken refusals back, before those that came since.
func (r *refusals) putBack(taken []petcat.AccountRefusals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range taken {
		since := r.waiting[t.Account]
		delete(r.waiting, t.Account)
		r.add(t.Account, append(t.Refusals, since...)...)
	}
}

// writeRefusals writes the refusals of some accounts. A refusal that is written twice is
// kept once.
func (r *Recorder) writeRefusals(ctx context.Context) {
	for range refusalWrites {
		taken := r.refusals.take()
		if len(taken) == 0 {
			return
		}
		limited, cancel := context.WithTimeout(ctx, addTimeout)
		err := r.store.AddRefusals(limited, taken)
		cancel()
		if err != nil {
			r.refusals.putBack(taken)
			r.Logger.DebugContext(ctx, "recent refusals could not be written; retrying in a second", "error", err)
			return
		}
	}
}

package redislimit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// StartVirtual starts a limiter for which the server's time is the clock's. It
// waits for the server however long a busy machine takes, unless timeout says
// otherwise.
func StartVirtual(ctx context.Context, o Options, timeout time.Duration) (*Limiter, error) {
	o.virtualTime, o.timeout = true, timeout
	return New(ctx, o)
}

// Patient makes commands take as long as timeout.
func Patient(o *Options, timeout time.Duration) { o.timeout = timeout }

// SpendScript is the script of a charge with its numbers in it, in place of the
// argument that holds them, and its other arguments.
func SpendScript(l *Limiter, c ratelimit.Charge) (source string, args []string) {
	given := l.callOf([]*order{{charge: c, owe: true}}).args
	var numbers strings.Builder
	for _, b := range []byte(given[2]) {
		fmt.Fprintf(&numbers, `\%03d`, b)
	}
	return "ARGV[3] = '" + numbers.String() + "'\n" + newScripts().spend.source, given[:2]
}

// BatchTimeout is how long the server may take to be told of blocks.
const BatchTimeout time.Duration = batchTimeout

// WaitForBlocks returns how many requests wait for a block that this node leases.
func WaitForBlocks(l *Limiter) (waiters int64) {
	l.leaser.mu.Lock()
	defer l.leaser.mu.Unlock()
	for _, j := range l.leaser.jobs {
		waiters += j.waiters
	}
	return waiters
}

// LoseCall has so many requests learn that the call which they shared was not
// answered in time.
func LoseCall(l *Limiter, requests int) {
	lost := &lostCall{error: context.DeadlineExceeded, first: true}
	for range requests {
		l.failed(l.lanes[0], lost)
	}
}

// ForgetApart makes a limiter forget that its server is part of a cluster.
func ForgetApart(l *Limiter) { l.apart.Store(false) }

// SettleTime is how long after its store is back a node has settled with it.
const SettleTime = time.Duration(settleBeats+6) * beatEvery

// Trusts reports whether requests are sent to the server.
func Trusts(l *Limiter) bool { return l.lanes[0].trusted() }

// AdmitAlone has a node note that it admitted a request without the server.
func AdmitAlone(l *Limiter, id petcat.AccountID) {
	l.views.admittedAlone(id, minuteOf(l.local.Now()))
}

// Merge tells the server what the node admitted alone. When the answer is lost, the
// node does not know of it, and will tell the same again.
func Merge(l *Limiter, id petcat.AccountID, lost bool) {
	l.merge(l.lifetime, func(*lane) bool { return true })
	if lost {
		l.views.look(id, func(v *view) { v.merged, v.told = 0, 0 })
		l.views.putDirty([]petcat.AccountID{id})
	}
}

package redislimit

import (
	"context"
	"time"

	"petcat/internal/ratelimit"
)

// StartVirtual starts a limiter for which the server's time is the clock's. It
// waits for the server however long a busy machine takes, unless timeout says
// otherwise.
func StartVirtual(ctx context.Context, o Options, timeout time.Duration) (*Limiter, error) {
	o.virtualTime, o.timeout = true, timeout
	return New(ctx, o)
}

// CommandTimeout is how long a request may be held up by a command.
const CommandTimeout time.Duration = commandTimeout

// SpendHash is the name under which the server knows the script of a charge.
func SpendHash() string { return newScripts().spend.hash }

// SpendArgs is what the script of a charge is given.
func SpendArgs(l *Limiter, c ratelimit.Charge) []string {
	return l.callOf([]*order{{charge: c, owe: true}}).args
}

// SettleTime is how long after its store is back a node has settled with it.
const SettleTime = time.Duration(settleBeats+6) * beatEvery

package redislimit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
	"petcat/internal/ratelimit"
)

// order is a charge on its way to the server and back.
type order struct {
	charge ratelimit.Charge
	owe    bool          // admit it without the store
	known  lastBan       // the key's last ban as this node knows it
	since  clock.Reading // of the stopwatch
	facts  facts         // the answer
	err    error         // why there is none, where that is not the same for all of a call
}

const (
	// callsAtOnce is how many calls of the script are under way at once. Orders
	// that come in meanwhile share the next: so few make it worth a call, which
	// costs both sides several times what a decision does, and so many that
	// nobody waits for longer than a fraction of a round trip to be sent.
	callsAtOnce = 2
	// ordersInCall is how many orders share a call at most: some 250 µs of the
	// server's time, for which nobody else is served.
	ordersInCall = 64
	// fullCallsAtOnce is how many calls may be under way when those that follow
	// are full. At 10 ms to the server and back, it is 200,000 decisions a second.
	fullCallsAtOnce = 32
)

// errLate says that a request waited for a call, or for a block that the server is
// to be told of, for so long that it goes on without. Nothing was charged.
var errLate = errors.New("too long a wait for a call")

// lostCall says why the server decided nothing of a call. All its orders have the
// same, and the first to be told is to take note of it.
type lostCall struct {
	error

	noted atomic.Bool
}

func (e *lostCall) Unwrap() error { return e.error }

// newOrders returns what brings orders together.
func (l *Limiter) newOrders() *groupcommit.Committer[*order] {
	return groupcommit.New(groupcommit.Options[*order]{
		Commit: func(group []*order) error { return l.send(l.lifetime, group) },
		Clock:  l.stopwatch, Expired: l.late,
		Concurrent: callsAtOnce, ConcurrentFull: fullCallsAtOnce, MaxGroup: ordersInCall, Queue: flyingMost,
	})
}

// place has an order carried out. Of one whose caller's context ended nobody
// knows whether it was.
func (l *Limiter) place(ctx context.Context, o *order) error {
	if l.apart.Load() {
		return l.sendAlone(ctx, o)
	}
	err := l.orders.Submit(ctx, o)
	switch {
	case errors.Is(err, groupcommit.ErrRefused):
		return errBusy
	case err != nil:
		return err
	default:
		return o.err
	}
}

// send has orders carried out in one call, once. None takes longer than a command
// may, its wait for the call included.
func (l *Limiter) send(ctx context.Context, orders []*order) error {
	client := l.client.Load()
	if client == nil {
		return errNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience(orders))
	defer cancel()
	answers, err := l.ask(ctx, *client, l.callOf(orders))
	if isCrossSlot(err) && len(orders) > 1 {
		l.sendApart(ctx, orders)
		return nil
	}
	if err != nil {
		return &lostCall{error: err}
	}
	if len(answers) != len(orders) {
		return &lostCall{error: fmt.Errorf("the server answered %d of %d charges", len(answers), len(orders))}
	}
	for i, o := range orders {
		if o.facts, err = parseFacts(answers[i]); err != nil {
			return &lostCall{error: err}
		}
	}
	l.server.observe(orders[0].facts.server)
	return nil
}

// late tells an order that has waited for half of its time: a call would have too
// little left, for it and for those that share it, and who is not answered is
// charged all the same.
func (l *Limiter) late(o *order, now clock.Reading) error {
	if now.Since(o.since) > l.options.timeout/2 {
		return errLate
	}
	return nil
}

// patience returns how long a call may take: as long as the order that has waited
// longest still has time.
func (l *Limiter) patience(orders []*order) time.Duration {
	now, left := l.stopwatch.Read(), l.options.timeout
	for _, o := range orders {
		left = min(left, l.options.timeout-now.Since(o.since))
	}
	return left
}

// sendApart has orders carried out one by one from now on, because the server is
// part of a cluster, whatever its URL says. It has refused them all.
func (l *Limiter) sendApart(ctx context.Context, orders []*order) {
	if !l.apart.Swap(true) {
		l.logger.Warn(apartWarning)
	}
	var all sync.WaitGroup
	for _, o := range orders {
		all.Go(func() { o.err = l.sendAlone(ctx, o) })
	}
	all.Wait()
}

// sendAlone has an order carried out in a call of its own, if it is not late for
// that: another call may have been refused before.
func (l *Limiter) sendAlone(ctx context.Context, o *order) error {
	if err := l.late(o, l.stopwatch.Read()); err != nil {
		return err
	}
	return l.send(ctx, []*order{o})
}

const apartWarning = "the limiter's server is part of a cluster, so that requests cannot share calls; give the URL of the cluster, redis-cluster://"

// isCrossSlot reports whether a server refused a call because its keys are in
// several hash slots. Nothing of it was done.
func isCrossSlot(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && strings.HasPrefix(e.Error(), "CROSSSLOT")
}

// ask runs the script. It returns when ctx ends, which the client does not do while
// it connects to a server that is slow to greet.
func (l *Limiter) ask(ctx context.Context, client rueidis.Client, c call) ([]rueidis.RedisMessage, error) {
	type outcome struct {
		answers []rueidis.RedisMessage
		err     error
	}
	asked := make(chan outcome, 1)
	go func() {
		var o outcome
		o.answers, o.err = l.scripts.spend.do(ctx, client, c).ToArray()
		asked <- o
	}()
	select {
	case o := <-asked:
		return o.answers, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// callOf returns what the script is run with; spend.lua names the numbers.
func (l *Limiter) callOf(orders []*order) call {
	floor := l.server.floor()
	const commonNumbers, orderNumbers = 2, 10
	numbers := make([]byte, 0, 8*(commonNumbers+orderNumbers*len(orders)))
	keys := make([]string, 0, 2*len(orders))
	numbers = appendNumbers(numbers, floor/int64(time.Second), floor%int64(time.Second))
	for _, o := range orders {
		minute, told := l.views.told(o.charge.Account)
		keys = append(keys, l.keys.account(o.charge.Account), l.keys.key(o.charge.Account, o.charge.Key))
		numbers = appendNumbers(numbers,
			o.charge.Part.Of(o.charge.Quota.PerMinute), o.charge.Quota.PerDay,
			ratelimit.LeaseBlock(o.charge.Quota)/2, oneIf(o.owe),
			int64(o.charge.Key), told, minute,
			o.known.start, o.known.endUnlessLifted(), o.known.level,
		)
	}
	return call{keys, l.withTime([]string{l.node, modeArg(l.options.Bans), string(numbers)})}
}

// appendNumbers packs numbers as the script of charges reads them.
func appendNumbers(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func oneIf(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

func modeArg(m petcat.BanMode) string {
	switch m {
	case petcat.EnforceBans:
		return "2"
	case petcat.ShadowBans:
		return "1"
	default:
		return "0"
	}
}

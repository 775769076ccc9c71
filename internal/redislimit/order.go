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
	minute int64         // of which the server last told
	told   int64         // its use then
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

	first bool // the server was not doubted before
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
	for _, o := range orders {
		o.minute, o.told = l.views.sent(o.charge.Account)
	}
	answers, err := l.ask(ctx, *client, l.callOf(orders), eldest(orders))
	if err == nil {
		err = takeAnswers(orders, answers)
	}
	if err != nil {
		for _, o := range orders {
			l.views.lost(o.charge.Account)
		}
		if isCrossSlot(err) && len(orders) > 1 {
			l.sendApart(ctx, orders)
			return nil
		}
		lost := &lostCall{error: err}
		if errors.Is(err, context.DeadlineExceeded) {
			lost.first = l.doubt(orders)
		}
		return lost
	}
	for _, o := range orders {
		l.views.answered(o.charge.Account, o.facts)
	}
	l.server.observe(orders[0].facts.server)
	return nil
}

// doubt sends no more to the server until a beat is answered. It returns whether
// that is new.
func (l *Limiter) doubt(orders []*order) (first bool) {
	now := l.local.Now()
	for _, o := range orders {
		if l.lane(o.charge.Account).doubted.CompareAndSwap(0, now) {
			first = true
		}
	}
	return first
}

// takeAnswers gives each order its answer.
func takeAnswers(orders []*order, answers []rueidis.RedisMessage) (err error) {
	if len(answers) != len(orders) {
		return fmt.Errorf("the server answered %d of %d charges", len(answers), len(orders))
	}
	for i, o := range orders {
		if o.facts, err = parseFacts(answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// late tells an order that has waited for half of its time: a call would have too
// little left, for it and for those that share it, and who is not answered is
// charged all the same. So it does when the server is doubted or away.
func (l *Limiter) late(o *order, now clock.Reading) error {
	if now.Since(o.since) > l.options.timeout/2 || !l.lane(o.charge.Account).trusted() {
		return errLate
	}
	return nil
}

// eldest returns since when the order waits that has waited longest.
func eldest(orders []*order) clock.Reading {
	since := orders[0].since
	for _, o := range orders {
		if o.since.Mono < since.Mono {
			since = o.since
		}
	}
	return since
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

// answerTimeout is how long an answer is listened for. It is that much longer than
// a command may take because of pauses of this process, which do not count.
const answerTimeout = time.Second

// ask runs the script. It waits until a command that began at since has taken as
// long as it may, which the client does not do while it connects to a server that
// is slow to greet.
func (l *Limiter) ask(ctx context.Context, client rueidis.Client, c call, since clock.Reading) ([]rueidis.RedisMessage, error) {
	type outcome struct {
		answers []rueidis.RedisMessage
		err     error
	}
	ctx, cancel := context.WithTimeout(ctx, max(answerTimeout, l.options.timeout))
	defer cancel()
	asked := make(chan outcome, 1)
	go func() {
		var o outcome
		o.answers, o.err = l.scripts.spend.do(ctx, client, c).ToArray()
		asked <- o
	}()
	look := time.NewTimer(l.stopwatch.every)
	defer look.Stop()
	for {
		select {
		case o := <-asked:
			return o.answers, o.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-look.C:
			next := l.stopwatch.nextLook(since)
			if next <= 0 {
				return nil, context.DeadlineExceeded
			}
			look.Reset(next)
		}
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
		keys = append(keys, l.keys.account(o.charge.Account), l.keys.key(o.charge.Account, o.charge.Key))
		numbers = appendNumbers(numbers,
			o.charge.Part.Of(o.charge.Quota.PerMinute), o.charge.Quota.PerDay,
			ratelimit.LeaseBlock(o.charge.Quota)/2, oneIf(o.owe),
			int64(o.charge.Key), o.told, o.minute,
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

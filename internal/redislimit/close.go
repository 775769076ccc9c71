package redislimit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"petcat"
)

// Close implements [ratelimit.Limiter]. The last node gives back what is leased
// and not spent; the others leave it to those who go on.
func (l *Limiter) Close(ctx context.Context) error {
	l.stop.Do(func() { close(l.stopping) })
	l.halt()
	idle := make(chan struct{})
	go func() {
		l.background.Wait()
		close(idle)
	}()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = fmt.Errorf("closing the limiter: %w", ctx.Err())
	}
	if client := l.client.Load(); client != nil && err == nil {
		l.merge(l.lifetime, func(ln *lane) bool { return ln.now() != alone })
		if l.mode() != alone {
			l.tellBans()
			if l.lastNode() {
				l.takeAll(ctx, *client)
			}
		}
		l.beatAll(ctx, *client, l.options.timeout, leaveFor)
	}
	if err == nil {
		err = l.leaser.returns.Send(ctx, nil)
	}
	err = errors.Join(err, l.memory.Close(ctx))
	l.giveUp()
	<-idle
	l.orders.Close()
	if client := l.client.Swap(nil); client != nil {
		hangUp(*client)
	}
	return err
}

// hangUpPatience is how long a client may take to close. It waits for what a
// server that hangs has not answered, until its connections give up.
const hangUpPatience = 100 * time.Millisecond

// hangUp closes a client. One that takes longer is left to end by itself.
func hangUp(client rueidis.Client) {
	closed := make(chan struct{})
	go func() {
		client.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(hangUpPatience):
	}
}

// takeBudget bounds how long a closing node looks for blocks to give back: the
// loss is a hundredth of a day, and a restart must not wait for a million keys.
const takeBudget = 5 * time.Second

// takeAll takes all unspent blocks from the server, to be given back.
func (l *Limiter) takeAll(ctx context.Context, client rueidis.Client) {
	ctx, cancel := context.WithTimeout(ctx, takeBudget)
	defer cancel()
	for _, node := range client.Nodes() {
		for cursor := uint64(0); ctx.Err() == nil; {
			page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(string(l.keys)+":{acct_*}").Count(batchSize).Build()).AsScanEntry()
			if err != nil {
				break // a replica, or a server that went away
			}
			l.take(ctx, page.Elements)
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
}

func (l *Limiter) take(ctx context.Context, keys []string) {
	var ids []petcat.AccountID
	var calls []call
	for _, key := range keys {
		digits := strings.TrimSuffix(strings.TrimPrefix(key, string(l.keys)+":{acct_"), "}")
		if id, err := strconv.ParseInt(digits, 10, 64); err == nil {
			ids = append(ids, petcat.AccountID(id))
			calls = append(calls, call{keys: []string{key}})
		}
	}
	for i, r := range l.runAll(ctx, l.scripts.take, calls) {
		if r.err == nil && r.numbers[1] > 0 {
			l.leaser.giveBack(petcat.DayReturn{Account: ids[i], Day: r.numbers[0], Unused: r.numbers[1]})
		}
	}
}

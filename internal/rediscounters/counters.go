// Package rediscounters implements [counters.Counters] on Redis or Valkey: a single
// server, one behind Sentinel, or a cluster.
//
// It consists of one script (counters.lua), which decides many charges in one call.
// A single server is one partition. A cluster has 64, each with all of its keys in
// one hash slot, so that the loss of one of its servers affects only the accounts
// there.
//
// A partition's epoch is a key beside its counts, with the server's replication id
// in it. That id changes whenever a server starts, is promoted, or gets its first
// replica. The script compares the two in each call, and begins the next epoch when
// they differ or the key is gone. The first node that notices begins it for all, and
// no charge is counted by a server that may have forgotten some without its node
// being told.
//
// A call is sent once. Only a call that the server has not begun, because it does
// not know the script or the slot is elsewhere, is sent again.
package rediscounters

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"

	"petcat"
	"petcat/internal/counters"
)

// Options of [Counters].
type Options struct {
	URL petcat.Secret // where the server is; it may hold a password
	TLS *tls.Config   // how to speak TLS where the URL asks for it; nil: as usual
	// Namespace begins the names of all keys, so that deployments can share a
	// server; "" is petcat.
	Namespace string
	// AllowEviction accepts a server that may throw keys away when its memory is
	// full, and with them counts of the running minute.
	AllowEviction bool
	Logger        *slog.Logger // nil discards

	now func() int64 // for tests: the server's clock; nil: its own
}

// Counters implements [counters.Counters].
type Counters struct {
	options  Options
	endpoint endpoint
	prefixes []string             // of each partition's keys
	link     atomic.Pointer[link] // nil: the next call connects
}

// tags are hash tags whose slots divide a cluster's evenly.
const tags = "10 18 113 342 29 21 3 122 69 61 72 162 50 58 153 43 11 19 112 343 28 20 2 123 68 60 73 163 51 59 152 42 " +
	"12 102 111 119 133 23 1 9 173 63 70 78 52 142 49 41 13 103 110 118 132 22 0 8 172 62 71 79 53 143 48 40"

// New returns counters. Close them. A server that does not answer is no error: calls
// go on trying to reach it. A server that answers and must not be used is: it is too
// old, may evict keys, refuses the password, or is not what the URL says.
func New(ctx context.Context, o Options) (*Counters, error) {
	e, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	c := &Counters{options: o, endpoint: e}
	for tag := range strings.FieldsSeq(tags) {
		c.prefixes = append(c.prefixes, cmp.Or(o.Namespace, "petcat")+":{"+tag+"}:")
		if e.topology != cluster {
			break
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*dialTimeout)
	defer cancel()
	_, _, err = c.Probe(ctx, 0)
	if r, is := errors.AsType[*refusal](err); is && r.final {
		return nil, fmt.Errorf("the shared counters cannot be used: %w", err)
	} else if err != nil {
		o.Logger.Warn("the shared counters do not answer; this node starts without them", "error", err)
	}
	return c, nil
}

// Close ends the connections. Calls that are under way fail.
func (c *Counters) Close() {
	closed := link(func() (rueidis.Client, error) { return nil, net.ErrClosed })
	c.link.Swap(&closed).hangUp()
}

// Partitions implements [counters.Counters].
func (c *Counters) Partitions() int { return len(c.prefixes) }

// Probe implements [counters.Counters].
func (c *Counters) Probe(ctx context.Context, partition int) (counters.Epoch, int64, error) {
	l := c.reach(ctx)
	r, err := c.call(partition, "charge").run(ctx, 0)
	if _, refused := errors.AsType[*refusal](err); refused && c.endpoint.topology != cluster && c.link.CompareAndSwap(l, nil) {
		l.hangUp() // behind the same name may be another server by now
	}
	return r.epoch, r.now, err
}

// Charge implements [counters.Counters].
func (c *Counters) Charge(ctx context.Context, partition int, epoch counters.Epoch, charges []counters.Charge) ([]counters.Facts, error) {
	k := c.call(partition, "charge")
	for _, ch := range charges {
		overdraw := int64(0)
		if ch.Overdraw {
			overdraw = 1
		}
		k.add("", int64(ch.Account), ch.Requests, ch.Reported, ch.Minute, ch.DayUsed, ch.PerMinute, ch.PerDay, overdraw, ch.Series)
	}
	r, err := k.runIn(ctx, epoch)
	if err != nil {
		return nil, err
	}
	facts := make([]counters.Facts, len(charges))
	for i := range facts {
		a := r.answers[answerSize*i:]
		facts[i] = counters.Facts{
			Now: r.now, Admitted: number(a, 0, 6), MinuteUsed: number(a, 10, 6),
			Day: counters.Day{
				Series: number(a, 26, 6), Known: a[32] == 1, Count: number(a, 33, 6),
				Granted: number(a, 39, 6), Free: number(a, 45, 6), Owed: number(a, 51, 6),
			},
		}
	}
	return facts, nil
}

// Grant implements [counters.Counters]. No call keeps others waiting for long.
func (c *Counters) Grant(ctx context.Context, partition int, epoch counters.Epoch, grants []counters.Grant) error {
	for some := range slices.Chunk(grants, 1_000) {
		k := c.call(partition, "grant")
		for _, g := range some {
			k.add("", int64(g.Account), g.Day, g.Series, g.Granted, g.Count)
		}
		if _, err := k.runIn(ctx, epoch); err != nil {
			return err
		}
	}
	return nil
}

// ShareRetries implements [counters.Counters].
func (c *Counters) ShareRetries(ctx context.Context, partition int, node string, keys []counters.KeyRetries) ([]int64, error) {
	k := c.call(partition, "retries", node, strconv.Itoa(counters.RetriesHold))
	for _, key := range keys {
		k.add("key:", int64(key.Key), key.Retries)
	}
	r, err := k.run(ctx, 0)
	if err != nil {
		return nil, err
	}
	elsewhere := make([]int64, len(keys))
	for i := range elsewhere {
		elsewhere[i] = number(r.answers, 8*i, 8)
	}
	return elsewhere, nil
}

package redislimit

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
	"petcat/internal/ratelimit"
)

// Options of a [Limiter].
type Options struct {
	// URL says where the server is; it may hold a password.
	URL petcat.Secret
	TLS *tls.Config // how to speak TLS where the URL asks for it; nil: as usual
	// Namespace begins the names of all keys, so that deployments can share a
	// server; "" is petcat.
	Namespace string
	Clock     clock.Clock
	Days      petcat.DayStore
	Bans      petcat.BanMode // "" is EnforceBans
	// Banned is told of every ban that this node imposes; see
	// [ratelimit.Options].
	Banned func(petcat.Ban)
	// LiveNodes returns how many nodes serve now, this one included. It is
	// called on a request's way. Nil: one.
	LiveNodes func() int
	// AllowEviction accepts a server that may throw keys away when its memory is
	// full, and with them counts of the running minute.
	AllowEviction bool
	// Observe is told how long it took the server to answer a charge, with the wait
	// for the call. It may be nil.
	Observe func(time.Duration)
	Logger  *slog.Logger // nil discards

	// For tests: the server's time is Clock's wall clock, and how long a command
	// may take, 0 being as usual.
	virtualTime bool
	timeout     time.Duration
}

// Limiter is the limiter of several nodes.
type Limiter struct {
	options   Options
	endpoint  endpoint
	keys      keyspace
	node      string // tells this node from the others
	scripts   scripts
	logger    *slog.Logger
	liveNodes func() int64

	stopwatch *stopwatch
	server    *serverClock
	local     *ratelimit.Clock  // the server's time as this node knows it
	memory    *ratelimit.Memory // decides alone, and remembers the bans
	views     views
	lanes     []*lane
	leaser    *leaser
	orders    *groupcommit.Committer[*order]
	// apart: no call is shared. In a cluster one can have the keys of one hash slot
	// only, which are those of hardly more than one account.
	apart  atomic.Bool
	client atomic.Pointer[rueidis.Client] // nil until the server was reached
	flying atomic.Int64                   // charges that were sent and not answered
	counts counts

	news   newsOfBans
	leased atomic.Bool // the memory may have leased blocks of days since it last released them

	beatNow    chan struct{} // capacity 1
	mergeNow   chan struct{} // capacity 1
	stopping   chan struct{} // closed by Close
	stop       sync.Once
	background sync.WaitGroup
	lifetime   context.Context //nolint:containedctx // of the background: ends when Close gives up waiting
	giveUp     context.CancelFunc
	working    context.Context //nolint:containedctx // of the background's calls that can be broken off: ends with Close
	halt       context.CancelFunc

	// Of the beat's goroutine alone.
	sinceSweep int  // beats
	storeAway  bool // memory counted without the store at the last beat
	settling   int  // beats until memory has settled with the store that is back; 0: it has
}

var _ ratelimit.Limiter = (*Limiter)(nil)

// New returns a running limiter. Close stops it. A server that does not answer
// is no error: the limiter counts alone until it does. A server that answers
// and must not be used is: it is too old, may evict keys, or refuses the
// password.
func New(ctx context.Context, o Options) (*Limiter, error) {
	e, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	o.defaults()
	l := &Limiter{
		options:   o,
		endpoint:  e,
		keys:      keyspace(o.Namespace),
		node:      strconv.FormatUint(rand.Uint64(), 36),
		scripts:   newScripts(),
		logger:    o.Logger,
		liveNodes: func() int64 { return max(1, int64(o.LiveNodes())) },
		stopwatch: newStopwatch(clock.NewSystem(), o.timeout),
		server:    &serverClock{source: o.Clock, exact: o.virtualTime},
		beatNow:   make(chan struct{}, 1),
		mergeNow:  make(chan struct{}, 1),
		stopping:  make(chan struct{}),
	}
	l.apart.Store(e.topology == cluster)
	l.lanes = newLanes(e.topology, l.keys)
	l.local = ratelimit.NewClock(l.server)
	l.leaser = newLeaser(l)
	l.lifetime, l.giveUp = context.WithCancel(context.WithoutCancel(ctx))
	l.working, l.halt = context.WithCancel(l.lifetime)
	if err := l.connect(ctx); err != nil {
		if permanent(err) {
			l.giveUp()
			return nil, fmt.Errorf("the limiter's server cannot be used: %w", inWords(err))
		}
		l.logger.Warn("the limiter's server does not answer: this node counts alone", "error", err)
	}
	for _, ln := range l.lanes {
		if ln.heard.Load() > 0 {
			ln.mode.Store(uint32(together))
		} else {
			ln.opened.Store(l.local.Now())
		}
	}
	l.memory = ratelimit.NewMemory(ratelimit.Options{
		Clock: l.local, Days: o.Days, Bans: o.Bans, Banned: l.bannedAlone, Logger: o.Logger,
	})
	l.orders = l.newOrders()
	l.background.Go(l.runBeats)
	l.background.Go(l.runMerges)
	l.background.Go(l.leaser.run)
	return l, nil
}

func (o *Options) defaults() {
	if o.Namespace == "" {
		o.Namespace = "petcat"
	}
	if o.Bans == "" {
		o.Bans = petcat.EnforceBans
	}
	if o.Banned == nil {
		o.Banned = func(petcat.Ban) {}
	}
	if o.LiveNodes == nil {
		o.LiveNodes = func() int { return 1 }
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration) {}
	}
	if o.timeout == 0 {
		o.timeout = commandTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Spend implements [ratelimit.Limiter].
func (l *Limiter) Spend(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	ln := l.lane(c.Account)
	if ln.trusted() {
		if d, err, decided := l.spendShared(ctx, ln, c); decided {
			return d, err
		}
	}
	return l.spendAlone(ctx, ln, c)
}

// spendShared decides by the server; while this node is joining the others, of
// whom some may not have told yet what they admitted alone, within the share that
// it may admit alone.
func (l *Limiter) spendShared(ctx context.Context, ln *lane, c ratelimit.Charge) (d ratelimit.Decision, err error, decided bool) {
	if ln.now() == together {
		return l.spendTogether(ctx, ln, c)
	}
	s := l.situation(ln)
	if !l.views.reserve(c, s) {
		return d, nil, false
	}
	d, err, decided = l.spendTogether(ctx, ln, c)
	if !decided || err != nil || d.Verdict != ratelimit.Admitted {
		l.views.release(c.Account, s)
	}
	return d, err, decided
}

// spendAlone decides by this node's memory.
func (l *Limiter) spendAlone(ctx context.Context, ln *lane, c ratelimit.Charge) (ratelimit.Decision, error) {
	l.counts.alone.Add(1)
	defer l.leased.Store(true)
	c.Part = l.views.part(c, l.situation(ln))
	d, err := l.memory.Spend(ctx, c)
	if err != nil && ctx.Err() == nil {
		// The store cannot tell the day. What the server told last will do.
		day := dayOf(l.local.Now())
		if used, known := l.views.today(c.Account, day); known {
			l.memory.Learn(c.Account, day, used)
			d, err = l.memory.Spend(ctx, c)
		}
	}
	if err == nil && d.Verdict == ratelimit.Admitted {
		l.views.admittedAlone(c.Account, minuteOf(d.Now))
		if ln.now() != alone {
			l.mergeSoon()
		}
	}
	return d, err
}

// situation returns in what this node decides alone now.
func (l *Limiter) situation(ln *lane) situation {
	now := l.local.Now()
	s := situation{minute: minuteOf(now), nodes: l.liveNodes()}
	since := now
	if ln.now() != together {
		s.phase, since = ln.phase.Load(), ln.opened.Load()
	} else if doubted := ln.doubted.Load(); doubted != 0 {
		since = doubted
	}
	if minuteOf(since) == s.minute {
		s.begun = float64(since-s.minute*int64(time.Minute)) / float64(time.Minute)
	}
	return s
}

func minuteOf(now int64) int64 { return petcat.Minute.Index(now / int64(time.Second)) }

func dayOf(now int64) int64 { return petcat.Day.Index(now / int64(time.Second)) }

// Mode returns who decides: together, alone or joining, which is the server within
// what this node may admit alone. In a cluster, what is true of any part of it.
func (l *Limiter) Mode() string { return l.mode().String() }

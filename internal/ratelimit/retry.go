package ratelimit

import (
	"time"

	"petcat"
)

// retrySpan is how many seconds back early retries count.
const retrySpan = int64(petcat.EarlyRetrySpan / time.Second)

// retries counts a key's early retries of the last minute, by the second.
type retries struct {
	second    int64 // the Unix second up to which perSecond is told
	total     int64 // the sum of perSecond
	perSecond [retrySpan]uint32
}

// forget drops what lies outside the span that ends with second: all of it when
// that falls, because the clock of those who count together was set back.
func (r *retries) forget(second int64) {
	if second-r.second >= retrySpan || second < r.second {
		*r = retries{second: second}
		return
	}
	for r.second < second {
		r.second++
		r.total -= int64(*r.slot())
		*r.slot() = 0
	}
}

// add counts one early retry in the second given to forget last.
func (r *retries) add() {
	*r.slot()++ // nobody is refused four billion times in a second
	r.total++
}

// slot returns the count of the newest second, also before 1970.
func (r *retries) slot() *uint32 {
	return &r.perSecond[(r.second%retrySpan+retrySpan)%retrySpan]
}

// refusal is the first refusal of a key by one window.
type refusal struct {
	seen  bool
	index int64 // the window's
	at    int64 // nanoseconds
}

// history is what is remembered of a key that was refused or banned; other
// keys have none. Its time, now, is the limiter's and never falls.
type history struct {
	account petcat.AccountID
	first   [2]refusal  // by window
	recent  *retries    // nil: no early retries since it mattered
	ban     *petcat.Ban // the last one; nil: none that matters
	// elsewhere is how many early retries other nodes have told of, until the
	// second until.
	elsewhere, until int64
}

// activeBan returns the ban that is under way, lifted ones excepted, or nil.
func (h *history) activeBan(now int64) *petcat.Ban {
	if h == nil || h.ban == nil || !h.ban.LiftedAt.IsZero() || now >= h.ban.EndsAt.UnixNano() {
		return nil
	}
	return h.ban
}

// refused takes note of a refusal by a window and returns how many early
// retries now count. The first refusal of a window opens the grace, in which
// requests that were under way may still arrive.
func (h *history) refused(now int64, w petcat.Window) int64 {
	first, index := &h.first[w], w.Index(unixOf(now))
	if !first.seen || first.index != index {
		*first = refusal{seen: true, index: index, at: now}
	}
	if h.recent != nil {
		h.recent.forget(unixOf(now))
	}
	if now-first.at > int64(petcat.EarlyRetryGrace) {
		if h.recent == nil {
			h.recent = &retries{second: unixOf(now)}
		}
		h.recent.add()
	}
	early := int64(0)
	if h.recent != nil {
		early = h.recent.total
	}
	if unixOf(now) < h.until {
		early += h.elsewhere
	}
	return early
}

// WarnOrBan completes the answer to a refused request whose key has made so many
// early retries: it warns, or returns that the key is to be banned.
func (d *Decision) WarnOrBan(q petcat.Quota, early int64, mode petcat.BanMode) (ban bool) {
	threshold := petcat.BanThreshold(q)
	if early > threshold {
		return mode != petcat.BansOff
	}
	// Nobody is to be warned of a ban that would not come.
	if mode == petcat.EnforceBans && 2*early >= threshold {
		d.Warn, d.EarlyRetriesLeft = true, threshold-early
	}
	return false
}

// NewBan returns the ban that so many early retries earn a key whose last ban
// was last; the zero Ban is for a key that was never banned. It begins now, a
// moment of the limiter's clock in nanoseconds.
func NewBan(c Charge, last petcat.Ban, now, early int64, mode petcat.BanMode) petcat.Ban {
	at := time.Unix(0, now).UTC()
	level := last.Next(at)
	return petcat.Ban{
		Key:     c.Key,
		Account: c.Account,
		Level:   level,
		// Stores keep milliseconds; the start must come back from them as it
		// went, because it is what tells one ban of a key from another.
		StartedAt:    at.Truncate(time.Millisecond),
		EndsAt:       ceilSecond(at.Add(petcat.BanDuration(level))),
		EarlyRetries: int(early),
		Shadow:       mode == petcat.ShadowBans,
	}
}

// impose bans the key from now on. What led to the ban is settled by it: after
// its end, or when it is lifted, the count of early retries begins anew.
func (h *history) impose(now int64, c Charge, early int64, mode petcat.BanMode) petcat.Ban {
	var last petcat.Ban
	if h.ban != nil {
		last = *h.ban
	}
	ban := NewBan(c, last, now, early, mode)
	h.ban, h.recent, h.until = &ban, nil, 0
	return ban
}

// apply takes over a ban that was imposed or lifted elsewhere, or loaded from a
// store. An older ban than the known one changes nothing; neither does old news
// of the same ban: what is lifted stays lifted.
func (h *history) apply(b petcat.Ban, now int64) {
	b.StartedAt = b.StartedAt.Truncate(time.Millisecond)
	if h.ban != nil {
		switch order := b.StartedAt.Compare(h.ban.StartedAt); {
		case order < 0:
			return
		case order == 0:
			known := *h.ban
			if known.LiftedAt.IsZero() {
				known.LiftedAt, known.LiftedBy = b.LiftedAt, b.LiftedBy
			}
			h.ban = &known
			return
		}
	}
	// A ban that was imposed while the wall clock was wrong could end in years:
	// from here on it lasts no longer than its level says.
	longest := ceilSecond(time.Unix(0, now).UTC().Add(petcat.BanDuration(b.Level)))
	if b.EndsAt.After(longest) {
		b.EndsAt = longest
	}
	b.EndsAt = ceilSecond(b.EndsAt)
	h.ban, h.recent, h.until = &b, nil, 0
}

// forgettable reports whether the key may be treated as one that was never
// refused, and answers would be the same.
func (h *history) forgettable(now int64) bool {
	unix := unixOf(now)
	if h.ban != nil && !h.ban.Forgotten(time.Unix(0, now)) {
		return false
	}
	if h.recent != nil && unix-h.recent.second < retrySpan {
		return false
	}
	for w, first := range h.first {
		if first.seen && first.index == petcat.Window(w).Index(unix) {
			return false
		}
	}
	return true
}

// ceilSecond rounds up to a whole second.
func ceilSecond(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		return whole.Add(time.Second)
	}
	return t
}

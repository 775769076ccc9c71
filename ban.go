package petcat

import (
	"context"
	"time"
)

// Ban refuses all requests of a key for a time, because the key was used for too many early
// retries.
type Ban struct {
	Key     KeyID
	Account AccountID
	// Level is the step of the ladder, from 1.
	Level        int
	StartedAt    time.Time
	EndsAt       time.Time // a whole second
	EarlyRetries int       // how many led to it
	// Shadow says that the ban was only counted, not enforced.
	Shadow   bool
	LiftedAt time.Time // zero: not lifted
	LiftedBy Actor
}

// Active reports whether the ban refuses the requests of its key at a moment.
func (b Ban) Active(now time.Time) bool { return b.State(now) == BanActive }

// BanState is what operators see of a ban.
type BanState string

// The states of a ban.
const (
	BanActive BanState = "active" // refuses requests
	BanShadow BanState = "shadow" // not over, and only counted
	BanEnded  BanState = "ended"
	BanLifted BanState = "lifted" // by an operator
)

// State returns the state at a moment.
func (b Ban) State(now time.Time) BanState {
	switch {
	case !b.LiftedAt.IsZero():
		return BanLifted
	case !now.Before(b.EndsAt):
		return BanEnded
	case b.Shadow:
		return BanShadow
	default:
		return BanActive
	}
}

// End returns when the ban ended or will end.
func (b Ban) End() time.Time {
	if !b.LiftedAt.IsZero() && b.LiftedAt.Before(b.EndsAt) {
		return b.LiftedAt
	}
	return b.EndsAt
}

// banLadder holds the durations by level. The last is kept at 6 h because
// widespread HTTP clients cap the Retry-After that they obey there: a longer
// ban would make them come back early through no fault of their callers.
var banLadder = [...]time.Duration{ //nolint:gochecknoglobals // a table that nobody changes
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour,
}

// MaxBanLevel is the highest level of a ban.
const MaxBanLevel = len(banLadder)

// banForgiveness is after how much time without a ban a key goes down one level.
const banForgiveness = 24 * time.Hour

// Next returns the level that a ban starting now has when b was the key's last
// one: one higher, less one for each full 24 hours since b ended. The zero Ban
// is for a key that was never banned.
func (b Ban) Next(now time.Time) int {
	level := b.Level
	if clean := now.Sub(b.End()); level > 0 && clean > 0 {
		level = max(0, level-int(min(clean/banForgiveness, time.Duration(MaxBanLevel))))
	}
	return min(level+1, MaxBanLevel)
}

// Forgotten reports whether b no longer matters: it ended, and its level has
// gone back to nothing.
func (b Ban) Forgotten(now time.Time) bool {
	return !now.Before(b.End()) && b.Next(now) == 1
}

// BanDuration returns how long a ban of a level lasts.
func BanDuration(level int) time.Duration {
	return banLadder[min(max(level, 1), MaxBanLevel)-1]
}

// BanMode says what bans do.
type BanMode string

// The modes of bans.
const (
	EnforceBans BanMode = "enforce"
	ShadowBans  BanMode = "shadow" // counted and reported, no request is refused
	BansOff     BanMode = "off"
)

// EarlyRetryGrace is how long after the first refusal of their minute refused requests are
// not early retries: they were under way when the quota ran out.
const EarlyRetryGrace = 2 * time.Second

// BanThreshold returns how many early retries of a key are tolerated in a minute of the
// clock; one more bans the key. A hundred polite processes may share a key of any quota.
func BanThreshold(q Quota) int64 { return max(100, q.PerMinute) }

// BanQuery chooses a page of bans, by key.
type BanQuery struct {
	// Active chooses the bans that keep a key out, or in shadow mode would, at a
	// moment; zero: the last ban of each key.
	Active  time.Time
	Account AccountID // 0: any
	After   KeyID     // only higher ids; 0: from the first
	Limit   int       // 0: all
}

// BanStore keeps bans: the last one of each key. Every change commits together
// with its audit entry, and reaches the servers as an [AccessChange].
type BanStore interface {
	// SaveBan replaces the last ban of a key by this one. It does nothing if the last ban
	// began at the same time or later: a caller that does not know whether its ban was
	// saved saves it again, and the ban may have been lifted since. It returns an [Error]
	// with [CodeNotFound] if there is no such key.
	SaveBan(ctx context.Context, b Ban) error
	// LiftBan ends a ban early. It returns an [Error] with [CodeNotFound] when
	// the key has no active ban.
	LiftBan(ctx context.Context, by Actor, key KeyID) (Ban, error)
	// BanPage returns a page of bans.
	BanPage(ctx context.Context, q BanQuery) ([]Ban, error)
}

package petcat

import (
	"context"
	"time"
)

// Ban rejects all requests of a key until it ends, because of too many early retries.
type Ban struct {
	Key     KeyID
	Account AccountID
	// Level is the step of the ladder, from 1.
	Level        int
	StartedAt    time.Time
	EndsAt       time.Time // a whole second
	EarlyRetries int       // the number that led to it
	// Shadow is true if the ban was only counted, not enforced.
	Shadow   bool
	LiftedAt time.Time // zero: not lifted
	LiftedBy Actor
}

// Active reports whether the ban rejects the requests of its key at now.
func (b Ban) Active(now time.Time) bool { return b.State(now) == BanActive }

// BanState is the state of a ban.
type BanState string

// The states of a ban.
const (
	BanActive BanState = "active" // rejects requests
	BanShadow BanState = "shadow" // in force, but only counted
	BanEnded  BanState = "ended"
	BanLifted BanState = "lifted" // by an operator
)

// State returns the state at now.
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

// Lift returns the ban of a key after an operator has lifted it at now. It returns an [Error] with
// [CodeNotFound] if the ban is not active.
func (b Ban) Lift(by Actor, now time.Time) (Ban, error) {
	if !b.Active(now) {
		return Ban{}, Errorf(CodeNotFound, "the key %s is not banned now", b.Key)
	}
	b.LiftedAt, b.LiftedBy = now, by
	return b, nil
}

// banLadder has the durations by level. The last one is 6 h because common HTTP clients cap
// Retry-After there: they would retry during a longer ban, which is not their users' fault.
var banLadder = [...]time.Duration{ //nolint:gochecknoglobals // a constant table
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour,
}

// MaxBanLevel is the highest level of a ban.
const MaxBanLevel = len(banLadder)

// banForgiveness is the time without a ban after which a key goes down one level.
const banForgiveness = 24 * time.Hour

// BanRetention is how long a ban is kept after its end. By then it is [Ban.Forgotten].
const BanRetention = 30 * 24 * time.Hour

// Next returns the level of a ban that starts now, if b was the key's last one: one level
// higher, less one for each full 24 hours since b ended. For a key that was never banned, b is
// the zero Ban.
func (b Ban) Next(now time.Time) int {
	level := b.Level
	if clean := now.Sub(b.End()); level > 0 && clean > 0 {
		level = max(0, level-int(min(clean/banForgiveness, time.Duration(MaxBanLevel))))
	}
	return min(level+1, MaxBanLevel)
}

// Forgotten reports whether b no longer matters: it has ended, and the next ban would be of
// level 1 again.
func (b Ban) Forgotten(now time.Time) bool {
	return !now.Before(b.End()) && b.Next(now) == 1
}

// BanDuration returns the duration of a ban of a level.
func BanDuration(level int) time.Duration {
	return banLadder[min(max(level, 1), MaxBanLevel)-1]
}

// BanMode determines the effect of bans.
type BanMode string

// The ban modes.
const (
	EnforceBans BanMode = "enforce"
	ShadowBans  BanMode = "shadow" // bans are counted and reported, but do not reject requests
	BansOff     BanMode = "off"
)

// EarlyRetryGrace is the time after the first rejection in a minute in which rejected requests
// do not count as early retries: they were in flight when the quota was exhausted.
const EarlyRetryGrace = 2 * time.Second

// BanThreshold returns the maximum number of early retries of a key in a clock minute; one more
// bans the key. A hundred well-behaved processes can share a key of any quota.
func BanThreshold(q Quota) int64 { return max(100, q.PerMinute) }

// BanQuery selects a page of bans, by key.
type BanQuery struct {
	// Active selects the bans in force at this time, shadow bans included; zero: the last ban
	// of each key.
	Active  time.Time
	Account AccountID // 0: any
	After   KeyID     // only higher ids; 0: from the first
	Limit   int       // 0: all
}

// BanStore keeps bans: the last one of each key, for [BanRetention]. Every change commits together
// with its audit entry, and reaches the servers as an [AccessChange].
type BanStore interface {
	// SaveBan replaces the last ban of a key. It keeps a last ban that started at the same time or later,
	// so a caller that does not know whether its ban was saved can save it again, even if the ban has
	// been lifted. It returns an [Error] with [CodeNotFound] if the key does not exist.
	SaveBan(ctx context.Context, b Ban) error
	// LiftBan ends a ban early. It returns an [Error] with [CodeNotFound] if the key has no
	// active ban.
	LiftBan(ctx context.Context, by Author, key KeyID) (Result[Ban], error)
	// FindBan returns the last ban of a key in any state. It returns an [Error] with [CodeNotFound]
	// if the key was never banned.
	FindBan(ctx context.Context, key KeyID) (Ban, error)
	// BanPage returns a page of bans.
	BanPage(ctx context.Context, q BanQuery) ([]Ban, error)
}

package petcat

import (
	"context"
	"errors"
	"time"
)

// Quota is the maximum number of requests of an account in each window.
type Quota struct {
	PerMinute int64
	PerDay    int64
}

// MaxQuota is the maximum of a quota. It keeps header values within the 15 digits of a
// structured field's integer.
const MaxQuota = 1_000_000_000_000

// Window is a fixed period of the UTC clock to which a quota applies. Because windows are not
// sliding, X-RateLimit-Reset is exact.
type Window time.Duration

// The windows.
const (
	Minute = Window(time.Minute)
	Day    = Window(24 * time.Hour)
)

// Length returns the window's length.
func (w Window) Length() time.Duration { return time.Duration(w) }

// Seconds returns the window's length in seconds.
func (w Window) Seconds() int64 { return int64(w.Length() / time.Second) }

// String returns the name that headers and messages use.
func (w Window) String() string {
	if w == Day {
		return "day"
	}
	return "minute"
}

// Index returns the number of the window that contains a Unix second, counted from the epoch.
func (w Window) Index(unix int64) int64 {
	// Rounded down, also before 1970.
	n := unix / w.Seconds()
	if unix%w.Seconds() < 0 {
		n--
	}
	return n
}

// Reset returns the Unix second at which the window with an index resets.
func (w Window) Reset(index int64) int64 { return (index + 1) * w.Seconds() }

// QuotaCharge is a charge for one request of an account.
type QuotaCharge struct {
	Account AccountID
	Quota   Quota
	// Peek: only return the usage, without a charge. The result is never Allowed.
	Peek bool
}

// QuotaCount is the result of a QuotaCharge.
type QuotaCount struct {
	Now                 int64 // the store's clock, nanoseconds since the Unix epoch
	Allowed             bool  // the request was charged, because both quotas allow it
	MinuteUsed, DayUsed int64 // after the charge
	// Newest is the newest revision that was committed when the call arrived; 0 if the store
	// was not queried.
	Newest Revision
}

// ErrAccountHeld is the error for an account that another call, or another session of the database,
// locked for too long. The requests were not charged.
var ErrAccountHeld = errors.New("nothing was charged, because of a lock")

// QuotaStore counts the requests of all nodes.
type QuotaStore interface {
	// Charge applies charges in order, each atomically to both windows of its account or to
	// neither. Charges must be sorted by account; the results are in the same order. After
	// an error other than [ErrAccountHeld], any of the charges may have been applied.
	Charge(ctx context.Context, charges []QuotaCharge) ([]QuotaCount, error)
}

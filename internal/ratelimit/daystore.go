package ratelimit

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// LeaseTimeout is how long a request waits for the day store before it goes on
	// without. A durable write takes milliseconds; a store that needs seconds is treated
	// as unavailable, and the caller must not pay for it with its own time-out.
	LeaseTimeout = 2 * time.Second
	// StoreTimeout bounds one call of the day store. It is longer than a request waits: a
	// slow answer still tells what was leased.
	StoreTimeout = 10 * time.Second
	// StoreRetry is how long a day store that failed is left alone.
	StoreRetry = time.Second
)

// ErrStoreSlow says that the day store did not answer in time.
var ErrStoreSlow = errors.New("the store did not answer in time")

// DayStoreState is whether the day store does its work. It needs no circuit breaker: few
// goroutines make all calls, and whoever waits for them goes on without. The zero value
// says that it does.
type DayStoreState struct{ outage atomic.Pointer[outage] }

type outage struct {
	err        error
	unreadable bool // counts cannot be read either
}

// MarkFailed records that the store does not do its work, nor tells counts if unreadable. It
// reports whether that is new.
func (s *DayStoreState) MarkFailed(logger *slog.Logger, err error, unreadable bool) (first bool) {
	first = s.outage.Swap(&outage{err, unreadable}) == nil
	if first {
		logger.Error("the store is unavailable: day counts are kept in memory", "error", err)
	}
	return first
}

// MarkWorking records that the store does its work, and reports whether that is new.
func (s *DayStoreState) MarkWorking(logger *slog.Logger) (again bool) {
	again = s.outage.Swap(nil) != nil
	if again {
		logger.Info("the store is available again: day counts are saved")
	}
	return again
}

// Unavailable reports whether the store does not do its work.
func (s *DayStoreState) Unavailable() bool { return s.outage.Load() != nil }

// Unreadable returns why counts cannot be read, nil if they can, or if nobody has tried.
func (s *DayStoreState) Unreadable() error {
	if out := s.outage.Load(); out != nil && out.unreadable {
		return out.err
	}
	return nil
}

package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// board keeps refusals while it is there.
type board struct {
	memory

	refusing bool
	most     int // accounts in one call
	got      map[petcat.AccountID][]petcat.Refusal
}

func (b *board) AddRefusals(_ context.Context, refusals []petcat.AccountRefusals) error {
	b.most = max(b.most, len(refusals))
	if b.refusing {
		return errors.New("away")
	}
	for _, a := range refusals {
		b.got[a.Account] = append(b.got[a.Account], a.Refusals...)
	}
	return nil
}

func startRefusals() (*board, *Recorder) {
	b := &board{got: make(map[petcat.AccountID][]petcat.Refusal)}
	r := New(Options{Node: "a", Clock: clock.NewManual(noon), Logger: slog.New(slog.DiscardHandler)})
	r.Open(b)
	return b, r
}

func nth(n int) petcat.Refusal {
	return petcat.Refusal{At: noon.Add(time.Duration(n) * time.Second), RequestID: fmt.Sprint(n)}
}

// TestRefusalsWait: while the store is away the last ones of each account wait, and
// what comes meanwhile is behind them.
func TestRefusalsWait(t *testing.T) {
	b, r := startRefusals()
	b.refusing = true
	for n := range 30 {
		r.Refused(7, nth(n))
		if n%7 == 0 {
			r.Flush(t.Context())
		}
	}
	b.refusing = false
	r.Flush(t.Context())
	got := b.got[7]
	if len(got) != petcat.RecentRefusals || got[0] != nth(10) || got[19] != nth(29) {
		t.Errorf("written were %v", got)
	}
	r.Flush(t.Context())
	if len(b.got[7]) != petcat.RecentRefusals {
		t.Error("they are written twice")
	}
}

// TestRefusalsOfManyAccounts: what waits is bounded, and so is what one call writes.
func TestRefusalsOfManyAccounts(t *testing.T) {
	b, r := startRefusals()
	for a := range petcat.AccountID(2 * waitingAccounts) {
		r.Refused(a+1, nth(1))
	}
	for range 1 + waitingAccounts/refusalAccounts/refusalWrites {
		r.Flush(t.Context())
	}
	if len(b.got) != waitingAccounts || b.most != refusalAccounts {
		t.Errorf("refusals of %d accounts are written, %d in one call; want %d and %d", len(b.got), b.most, waitingAccounts, refusalAccounts)
	}
}

package ratelimit_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

func client(n byte) clientnet.Net { return clientnet.Of(netip.AddrFrom4([4]byte{192, 0, 2, n})) }

// TestDoorCountsFailuresOnce: of 300 concurrent failures of an address, as many as the limit are allowed.
func TestDoorCountsFailuresOnce(t *testing.T) {
	t.Parallel()
	d := ratelimit.NewDoor[clientnet.Net](clocktest.NewManual(noon), 10, ratelimit.NewLookups(300, 0))
	var allowed atomic.Int64
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			wrong := errors.New("wrong")
			err := d.LookUp(t.Context(), client(1), func() error { return wrong })
			if errors.Is(err, wrong) && !d.Fail(client(1)).Rejected {
				allowed.Add(1)
			}
		})
	}
	all.Wait()
	wantEqual(t, "allowed failures", 10, allowed.Load())
	wantEqual(t, "another client", false, d.Fail(client(2)).Rejected)
}

// TestLookupsAreBounded: a limited number of look-ups runs, and the others wait in order. Clients that
// have reached their limit have places of their own.
func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const running, waiting = 16, 24
		c := clocktest.NewManual(noon.Add(18*time.Second + time.Second/2))
		d := ratelimit.NewDoor[clientnet.Net](c, 1, ratelimit.NewLookups(running, waiting))
		fellow, suspect := client(1), client(2)
		d.Fail(suspect)
		end := make(chan struct{})
		var inside, done atomic.Int64
		enter := func(from clientnet.Net, n int) {
			for range n {
				go func() {
					err := d.LookUp(t.Context(), from, func() error {
						inside.Add(1)
						<-end
						inside.Add(-1)
						return nil
					})
					if err == nil {
						done.Add(1)
					}
				}()
			}
			synctest.Wait()
		}
		crowded := func(from clientnet.Net) *petcat.Error {
			return petcat.Public(d.LookUp(t.Context(), from, func() error { return nil }))
		}
		enter(suspect, running/8+waiting/8)
		wantEqual(t, "look-ups of a suspect", running/8, inside.Load())
		e := crowded(suspect)
		wantEqual(t, "a further one of a suspect", petcat.CodeTooManyFailedAttempts, e.Code)
		wantEqual(t, "its Retry-After", 42, e.RetrySeconds())
		enter(fellow, running+waiting)
		wantEqual(t, "look-ups", running/8+running, inside.Load())
		e = crowded(fellow)
		wantEqual(t, "a further one", petcat.CodeServiceUnavailable, e.Code)
		wantEqual(t, "its Retry-After", 1, e.RetrySeconds())
		close(end)
		synctest.Wait()
		wantEqual(t, "all that had a place or waited", running/8+waiting/8+running+waiting, done.Load())
		wantEqual(t, "afterwards", nil, d.LookUp(t.Context(), suspect, func() error { return nil }))
	})
}

// TestLookupOfGoneClient: a client that disconnects while it waits leaves its place to others.
func TestLookupOfGoneClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := ratelimit.NewDoor[clientnet.Net](clocktest.NewManual(noon), 1, ratelimit.NewLookups(1, 1))
		end := make(chan struct{})
		go func() { _ = d.LookUp(t.Context(), client(1), func() error { <-end; return nil }) }()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		leave()
		err := d.LookUp(ctx, client(1), func() error { return nil })
		wantEqual(t, "disconnected while waiting", true, errors.Is(err, context.Canceled))
		close(end)
		synctest.Wait()
		wantEqual(t, "a free place", nil, d.LookUp(ctx, client(1), func() error { return nil }))
	})
}

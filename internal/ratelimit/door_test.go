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

	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

func client(n byte) clientnet.Net { return clientnet.Of(netip.AddrFrom4([4]byte{192, 0, 2, n})) }

// TestDoorCountsFailuresOnce: of an address's 300 concurrent failures, exactly the limit is allowed.
func TestDoorCountsFailuresOnce(t *testing.T) {
	t.Parallel()
	d := ratelimit.NewDoor[clientnet.Net](clocktest.NewManual(noon), 10, ratelimit.NewLookups(300))
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

// TestLookupsAreBounded: a limited number of look-ups runs, and any number of others waits.
// Clients that have reached their limit have separate places.
func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const running, waiting = 16, 20_000
		c := clocktest.NewManual(noon.Add(18*time.Second + time.Second/2))
		d := ratelimit.NewDoor[clientnet.Net](c, 1, ratelimit.NewLookups(running))
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
		enter(suspect, waiting)
		wantEqual(t, "look-ups of a suspect", running/8, inside.Load())
		enter(fellow, waiting)
		wantEqual(t, "look-ups", running/8+running, inside.Load())
		close(end)
		synctest.Wait()
		wantEqual(t, "all", 2*waiting, done.Load())
		wantEqual(t, "afterwards", nil, d.LookUp(t.Context(), suspect, func() error { return nil }))
	})
}

// TestLookupOfGoneClient: a client that disconnects while it waits leaves its place to others.
func TestLookupOfGoneClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := ratelimit.NewDoor[clientnet.Net](clocktest.NewManual(noon), 1, ratelimit.NewLookups(1))
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

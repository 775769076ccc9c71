package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcHeadroom is how much garbage may gather before it is collected, at
	// least. By itself the runtime collects when the heap has doubled: with the
	// few megabytes of a small catalog, dozens of times a second under load.
	gcHeadroom = 64 << 20
	// gcLook is how often the size of the heap is looked at.
	gcLook = time.Second
	// gcPercent is the runtime's own choice, which fits large heaps.
	gcPercent = 100
	// gcMaxPercent bounds how far a burst can get ahead of the next look.
	gcMaxPercent = 1000
)

// tuneGC keeps the collector from running too often for a small heap, until ctx
// ends. GOMEMLIMIT goes on to hold: near it, the runtime collects whatever the
// percentage is.
func tuneGC(ctx context.Context) {
	ticker := time.NewTicker(gcLook)
	defer ticker.Stop()
	current := gcPercent
	for {
		if next := gcPercentFor(liveHeap()); 4*max(next, current) > 5*min(next, current) {
			debug.SetGCPercent(next) // stops the world for some microseconds
			current = next
		}
		select {
		case <-ctx.Done():
			debug.SetGCPercent(gcPercent)
			return
		case <-ticker.C:
		}
	}
}

// gcPercentFor returns how much a heap may grow before it is collected, in
// percent of what was live the last time, in bytes.
func gcPercentFor(live uint64) int {
	return int(min(gcMaxPercent, max(gcPercent, gcHeadroom*100/max(live, 1)))) // #nosec G115 -- at most gcMaxPercent
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return gcHeadroom
	}
	return sample[0].Value.Uint64()
}

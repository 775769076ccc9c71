package server

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"petcat/internal/clock"
)

const (
	// gcHeadroom is how much garbage may gather before it is collected, at
	// least. By itself the runtime collects when the heap has doubled: with the
	// few megabytes of a small catalog, dozens of times a second under load.
	gcHeadroom = 64 << 20
	// gcPercent is the runtime's own choice, which fits large heaps.
	gcPercent = 100
	// smallHeap is the memory limit of the whole process until smallLive bytes or more
	// have been live for growsFor. So the garbage of a short flood of requests does not
	// enlarge the process, but data that stays does.
	smallHeap = 256 << 20
	smallLive = 176 << 20
	growsFor  = 10 * time.Second
	// gcMaxPercent bounds how far a heap can grow before the next collection.
	gcMaxPercent = 1000
)

// tuneGC keeps the collector from running too often for a small heap, until ctx
// ends. It looks at the heap after each collection: a percentage that is right for a
// small heap is ten times too much once a burst has made it large. GOMEMLIMIT still
// applies: near it, the runtime collects whatever the percentage is.
func tuneGC(ctx context.Context, c clock.Clock) {
	current := gcPercent
	small := c.Read()                                    // when less than smallLive was live
	limited := debug.SetMemoryLimit(-1) != math.MaxInt64 // by GOMEMLIMIT
	for {
		live, now := liveHeap(), c.Read()
		if live < smallLive {
			small = now
		}
		if !limited {
			debug.SetMemoryLimit(memoryLimitFor(now.Since(small)))
		}
		if next := gcPercentFor(live); 4*max(next, current) > 5*min(next, current) {
			debug.SetGCPercent(next) // stops the world for some microseconds
			current = next
		}
		select {
		case <-ctx.Done():
			debug.SetGCPercent(gcPercent)
			if !limited {
				debug.SetMemoryLimit(math.MaxInt64)
			}
			return
		case <-collected():
		}
	}
}

// collected returns a channel that is closed after the next collection.
func collected() <-chan struct{} {
	over := make(chan struct{})
	garbage := new([64]byte) // too large to share its place with what lives longer
	runtime.AddCleanup(garbage, func(over chan struct{}) { close(over) }, over)
	return over
}

// gcPercentFor returns how much a heap may grow before it is collected, in percent of
// live, the bytes that were live after the last collection.
func gcPercentFor(live uint64) int {
	return int(min(gcMaxPercent, max(gcPercent, gcHeadroom*100/max(live, 1)))) // #nosec G115 -- at most gcMaxPercent
}

// memoryLimitFor returns the memory limit of the process in bytes. large is for how long
// smallLive bytes or more have been live.
func memoryLimitFor(large time.Duration) int64 {
	if large < growsFor {
		return smallHeap
	}
	return math.MaxInt64
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return gcHeadroom
	}
	return sample[0].Value.Uint64()
}

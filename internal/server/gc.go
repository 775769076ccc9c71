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
	// smallHeap is the memory limit of a process with little data, so that the garbage
	// of a flood of requests does not enlarge it. limitHeadroom is what the limit leaves
	// at least beyond the data: near its limit, the runtime does little but collect.
	smallHeap     = 256 << 20
	limitHeadroom = 128 << 20
	// smallData is the size of the data from which there is no limit.
	smallData = 176 << 20
	// growsFor is how long bytes must be live to be data, after the start.
	growsFor = 5 * time.Second
	// gcMaxPercent bounds how far a heap can grow before the next collection.
	gcMaxPercent = 1000
)

// tuneGC keeps the collector from running too often for a small heap, until ctx
// ends. It looks at the heap after each collection: a percentage that is right for a
// small heap is ten times too much once a burst has made it large. GOMEMLIMIT still
// applies: near it, the runtime collects whatever the percentage is.
func tuneGC(ctx context.Context, c clock.Clock) {
	runtime.GC() // so that what is live is known: all of it was read for good
	data := newDataSize(liveHeap(), c.Read())
	percent, limit := gcPercent, int64(math.MaxInt64)
	limited := debug.SetMemoryLimit(-1) != limit // by GOMEMLIMIT
	for {
		live := liveHeap()
		data.observe(live, c.Read())
		if next := memoryLimitFor(data.size); next != limit && !limited {
			debug.SetMemoryLimit(next) // stops the world for some microseconds, as SetGCPercent
			limit = next
		}
		if next := gcPercentFor(live); 4*max(next, percent) > 5*min(next, percent) {
			debug.SetGCPercent(next)
			percent = next
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

// dataSize tells data, which stays, from what is live for a moment.
type dataSize struct {
	size   uint64 // the fewest bytes that were live in the last whole period of growsFor, or since
	lowest uint64 // the fewest in this period
	begun  clock.Reading
}

func newDataSize(live uint64, now clock.Reading) *dataSize {
	return &dataSize{size: live, lowest: live, begun: now}
}

// observe is told how many bytes are live.
func (d *dataSize) observe(live uint64, now clock.Reading) {
	d.size, d.lowest = min(d.size, live), min(d.lowest, live)
	if now.Since(d.begun) >= growsFor {
		d.size, d.lowest, d.begun = d.lowest, live, now
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

// memoryLimitFor returns the memory limit of a process with so many bytes of data, in
// bytes.
func memoryLimitFor(data uint64) int64 {
	if data >= smallData {
		return math.MaxInt64
	}
	return int64(max(smallHeap, data+limitHeadroom)) // #nosec G115 -- smallData and limitHeadroom at most
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return gcHeadroom
	}
	return sample[0].Value.Uint64()
}

package main

import (
	"runtime"
	"testing"
	"time"
)

func TestGCPercentFor(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int{
		0: gcMaxPercent, 4 * mib: gcMaxPercent, 16 * mib: 400, 64 * mib: gcPercent, 500 * mib: gcPercent,
	} {
		if got := gcPercentFor(live); got != want {
			t.Errorf("%d MiB live: %d %%, want %d", live/mib, got, want)
		}
	}
	if memoryLimitFor(100*mib) != smallHeap || memoryLimitFor(smallLive) < 1<<60 {
		t.Error("a small heap has a limit, a large one none")
	}
	if liveHeap() > 1<<40 {
		t.Error("the runtime no longer tells what is live")
	}
}

// What is live is looked at after each collection, so that a burst does not get
// ten times as far as it should.
func TestCollectedTells(t *testing.T) {
	over := collected()
	eventually(t, 5*time.Second, "a collection is noticed", func() bool {
		runtime.GC()
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
}

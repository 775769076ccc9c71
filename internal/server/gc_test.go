package server

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
	if memoryLimitFor(growsFor-1) != smallHeap || memoryLimitFor(growsFor) < 1<<60 {
		t.Error("a heap that is small, or has just grown, has a limit, a large one none")
	}
	if liveHeap() > 1<<40 {
		t.Error("the runtime no longer tells what is live")
	}
}

// What is live is looked at after each collection, so that a burst does not get
// ten times as far as it should.
func TestCollectedTells(t *testing.T) {
	over := collected()
	late := time.After(5 * time.Second)
	for {
		runtime.GC()
		select {
		case <-over:
			return
		case <-late:
			t.Fatal("no collection was noticed in 5 s")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

package main

import "testing"

func TestGCPercentFor(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int{
		0: gcMaxPercent, 4 * mib: gcMaxPercent, 16 * mib: 400, 64 * mib: gcPercent, 500 * mib: gcPercent,
	} {
		if got := gcPercentFor(live); got != want {
			t.Errorf("%d MiB live: %d %%, want %d", live/mib, got, want)
		}
	}
	if liveHeap() > 1<<40 {
		t.Error("the runtime no longer tells what is live")
	}
}

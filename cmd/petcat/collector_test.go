package main

import "testing"

// TestGCPercent: a small heap may grow by 64 MiB, a large one may double.
func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int{
		0:           6400,
		10 * mib:    640,
		32 * mib:    200,
		64 * mib:    100,
		1000 * mib:  100,
		9999 * mib:  100,
		1<<63 + mib: 100,
	} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d live bytes: %d; want %d", live, got, want)
		}
	}
}

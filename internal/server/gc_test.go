package server

import (
	"math"
	"runtime"
	"testing"
	"time"

	"petcat/internal/clock"
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
	if liveHeap() > 1<<40 {
		t.Error("the runtime no longer tells what is live")
	}
}

func TestMemoryLimitFor(t *testing.T) {
	const mib = 1 << 20
	for data, want := range map[uint64]int64{
		0: 256 * mib, 128 * mib: 256 * mib, 129 * mib: 257 * mib, 175 * mib: 303 * mib, 176 * mib: math.MaxInt64,
	} {
		if got := memoryLimitFor(data); got != want {
			t.Errorf("%d MiB of data: %d, want %d", data/mib, got, want)
		}
	}
}

// TestDataSize: what was read at the start is data, and what stays for as long as growsFor; what
// a burst of requests keeps for less is not.
func TestDataSize(t *testing.T) {
	c := clock.NewManual(time.Now())
	d := newDataSize(100, c.Read())
	for _, step := range []struct {
		after      time.Duration
		live, want uint64
	}{
		{0, 100, 100},
		{growsFor - time.Second, 300, 100}, // a burst
		{time.Second, 300, 100},
		{growsFor - time.Second, 100, 100}, // is over
		{time.Second, 120, 100},
		{growsFor / 2, 130, 100}, // growth
		{growsFor / 2, 140, 120},
		{growsFor, 150, 140},
		{time.Second, 50, 50}, // less at once
		{growsFor, 150, 50},
		{growsFor, 150, 150},
	} {
		c.Advance(step.after)
		d.observe(step.live, c.Read())
		if d.size != step.want {
			t.Errorf("%+v: %d", step, d.size)
		}
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

package ratelimit_test

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/clock"
	"petcat/internal/ratelimit"
)

func newBucket(limit int64) (*ratelimit.FailureBucket, *clock.Manual) {
	wall := clock.NewManual(noon)
	return ratelimit.NewFailureBucket(ratelimit.NewClock(wall), limit), wall
}

func TestFailureBucket(t *testing.T) {
	b, wall := newBucket(ratelimit.FailuresPerMinute)
	from := netip.MustParseAddr("192.0.2.1")
	reset := noon.Unix() + 60

	wall.Advance(18*time.Second + 1)
	want(t, "Peek before anything", b.Peek(from), ratelimit.BucketDecision{
		Now: noon.UnixNano() + 18e9 + 1, Minute: ratelimit.WindowState{Limit: 600, Remaining: 600, Reset: reset},
	})
	for n := int64(1); n <= 600; n++ {
		d := b.Fail(from)
		want(t, "Refused", d.Refused, false)
		want(t, "Remaining", d.Minute.Remaining, 600-n)
	}
	for range 3 {
		want(t, "Fail past the limit", b.Fail(from), ratelimit.BucketDecision{
			Refused: true, Now: noon.UnixNano() + 18e9 + 1,
			Minute: ratelimit.WindowState{Limit: 600, Remaining: 0, Reset: reset}, RetryAfter: 42,
		})
	}
	want(t, "Peek past the limit", b.Peek(from).Minute.Remaining, 0)
	want(t, "Remaining of a neighbour", b.Fail(from.Next()).Minute.Remaining, 599)

	wall.Advance(42 * time.Second)
	want(t, "Remaining in the next minute", b.Fail(from).Minute.Remaining, 599)
	wall.Step(-time.Minute)
	want(t, "Remaining after the clock was set back", b.Fail(from).Minute.Remaining, 598)
}

func TestFailureBucketFoldsAddresses(t *testing.T) {
	for _, tc := range []struct {
		name, one, other string
		same             bool
	}{
		{"IPv4 neighbours", "192.0.2.1", "192.0.2.2", false},
		{"IPv4 within IPv6", "192.0.2.1", "::ffff:192.0.2.1", true},
		{"one IPv6 /64", "2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", true},
		{"two IPv6 /64", "2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"zones of one link", "fe80::1%eth0", "fe80::2%eth1", true},
		{"an IPv4 address and the IPv6 prefix of its bits", "0.0.0.1", "0:0:0:1::", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, _ := newBucket(10)
			b.Fail(netip.MustParseAddr(tc.one))
			left := int64(10)
			if tc.same {
				left = 9
			}
			want(t, "Remaining of "+tc.other, b.Peek(netip.MustParseAddr(tc.other)).Minute.Remaining, left)
		})
	}
	b, _ := newBucket(10)
	want(t, "Remaining of an unknown address", b.Fail(netip.Addr{}).Minute.Remaining, 9)
}

func TestFailureBucketIsBounded(t *testing.T) {
	b, wall := newBucket(10)
	address := func(n uint32) netip.Addr {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], n)
		return netip.AddrFrom4(a)
	}
	for n := range uint32(65_536) {
		want(t, "Remaining of an address with a bucket of its own", b.Fail(address(n)).Minute.Remaining, 9)
	}
	for n := range uint32(10) {
		want(t, "Remaining in the shared bucket", b.Fail(address(100_000+n)).Minute.Remaining, int64(9-n))
	}
	want(t, "Refused when the shared bucket is spent", b.Fail(address(200_000)).Refused, true)
	want(t, "Remaining of an early address", b.Fail(address(5)).Minute.Remaining, 8)
	wall.Advance(time.Minute)
	for n := range uint32(65_536) {
		b.Fail(address(n))
	}
	want(t, "Remaining in the next minute's shared bucket", b.Fail(address(200_000)).Minute.Remaining, 9)
}

func TestFailureBucketInParallel(t *testing.T) {
	b, _ := newBucket(100)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if !b.Fail(netip.MustParseAddr("192.0.2.1")).Refused {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	want(t, "not refused", admitted.Load(), 100)
}

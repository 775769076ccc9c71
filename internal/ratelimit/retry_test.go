package ratelimit

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"petcat"
)

// The ring of buckets counts what a list of seconds counts.
func TestRetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.Int64Range(-100, 4_000_000_000).Draw(t, "start")
		r := &retries{second: now}
		var list []int64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 30, 58, 59, 60, 61, 119, 120, 121, 100_000}).Draw(t, "pause")
			r.forget(now)
			for range rapid.IntRange(0, 3).Draw(t, "retries") {
				r.add()
				list = append(list, now)
			}
			var want int64
			for _, at := range list {
				if at > now-60 {
					want++
				}
			}
			if r.total != want {
				t.Fatalf("at %d: %d retries count, want %d of %v", now, r.total, want, list)
			}
		}
	})
}

// Others are told what a list of seconds tells, as far back as the ring reaches.
func TestRetriesWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.Int64Range(-100, 4_000_000_000).Draw(t, "start")
		r := &retries{second: now}
		var list []int64
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 1, 2, 30, 58, 59, 60}).Draw(t, "pause")
			r.forget(now)
			for range rapid.IntRange(0, 3).Draw(t, "retries") {
				r.add()
				list = append(list, now)
			}
		}
		second := now + rapid.Int64Range(-70, 70).Draw(t, "later")
		span := rapid.Int64Range(0, retrySpan).Draw(t, "span")
		var want int64
		for _, at := range list {
			if at > now-retrySpan && at > second-span && at <= second {
				want++
			}
		}
		if got := r.within(second, span); got != want {
			t.Fatalf("at %d: %d retries in the %d s before %d, want %d of %v", now, got, span, second, want, list)
		}
	})
}

func TestDayJitter(t *testing.T) {
	var seen [maxDayJitter + 1]int
	for key := range petcat.KeyID(61_000) {
		j := dayJitter(key, 20_522)
		if again := dayJitter(key, 20_522); again != j {
			t.Fatalf("key %d is told %d and then %d", key, j, again)
		}
		seen[j]++
	}
	for j, n := range seen {
		if n < 500 || n > 2_000 {
			t.Errorf("%d of 61000 keys are told %d s, want about 1000", n, j)
		}
	}
	if dayJitter(7, 1) == dayJitter(7, 2) && dayJitter(7, 2) == dayJitter(7, 3) && dayJitter(7, 3) == dayJitter(7, 4) {
		t.Error("a key is told the same every day")
	}
}

// Nodes of different releases must tell a key the same moment.
func TestDayJitterStays(t *testing.T) {
	for _, tc := range []struct{ key, day, want int64 }{{1, 0, 30}, {1, 20_522, 32}, {2, 20_522, 9}, {7, 20_523, 58}, {1 << 40, 20_522, 27}} {
		if got := dayJitter(petcat.KeyID(tc.key), tc.day); got != tc.want {
			t.Errorf("key %d is told %d s on day %d, want %d s", tc.key, got, tc.day, tc.want)
		}
	}
}

func TestRetriesElsewhereHold(t *testing.T) {
	for second, want := range map[int64]int64{98: 5, 99: 5, 100: 0, 101: 0} {
		h := history{elsewhere: 5, until: 100} // the first refusal of a window is no early retry
		if got := h.refused(second*int64(time.Second), petcat.Minute); got != want {
			t.Errorf("%d early retries count in second %d, want %d", got, second, want)
		}
	}
}

func TestForgettable(t *testing.T) {
	h := history{recent: &retries{second: 1_000}}
	for second, want := range map[int64]bool{1_000: false, 1_000 + retrySpan - 1: false, 1_000 + retrySpan: true} {
		if got := h.forgettable(second * int64(time.Second)); got != want {
			t.Errorf("forgettable in second %d = %t, want %t", second, got, want)
		}
	}
}

func TestSecondsUntil(t *testing.T) {
	for _, tc := range []struct {
		now  time.Duration
		unix int64
		want int64
	}{
		{now: 0, unix: 60, want: 60},
		{now: time.Nanosecond, unix: 60, want: 60},
		{now: time.Second - 1, unix: 60, want: 60},
		{now: time.Second, unix: 60, want: 59},
		{now: 60*time.Second - 1, unix: 60, want: 1},
		{now: 60 * time.Second, unix: 60, want: 1},
		{now: -time.Nanosecond, unix: 0, want: 1},
		{now: -1500 * time.Millisecond, unix: 0, want: 2},
	} {
		if got := secondsUntil(int64(tc.now), tc.unix); got != tc.want {
			t.Errorf("secondsUntil(%s, %d) = %d, want %d", tc.now, tc.unix, got, tc.want)
		}
	}
}

func TestCeilSecond(t *testing.T) {
	whole := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for add, want := range map[time.Duration]time.Time{
		0: whole, 1: whole.Add(time.Second), time.Second - 1: whole.Add(time.Second), time.Second: whole.Add(time.Second),
	} {
		if got := ceilSecond(whole.Add(add)); !got.Equal(want) {
			t.Errorf("ceilSecond(+%s) = %s, want %s", add, got, want)
		}
	}
}

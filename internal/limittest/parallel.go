package limittest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"petcat"
	"petcat/internal/ratelimit"
)

// testParallel sends more than a quota from many goroutines at once.
func testParallel(t *testing.T, start New) {
	for _, tc := range []struct {
		quota    petcat.Quota
		senders  int
		requests int // of each sender
		want     int64
	}{
		{quota: free, senders: 64, requests: 20, want: 60},
		{quota: petcat.Quota{PerMinute: 5_000, PerDay: 1_000}, senders: 64, requests: 40, want: 1_000},
		{quota: petcat.Quota{PerMinute: 1, PerDay: 1}, senders: 64, requests: 5, want: 1},
		{quota: petcat.Quota{PerMinute: 7, PerDay: 7}, senders: 64, requests: 5, want: 7},
		{quota: petcat.Quota{PerMinute: 1_000, PerDay: 1_000}, senders: 8, requests: 100, want: 800},
		{quota: petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota}, senders: 8, requests: 1_000, want: 8_000},
	} {
		t.Run(fmt.Sprintf("%d senders against %d a minute and %d a day", tc.senders, tc.quota.PerMinute, tc.quota.PerDay), func(t *testing.T) {
			r := newRig(t, start, petcat.BansOff)
			remaining := make([]atomic.Int64, tc.want) // how often each was told
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for sender := range tc.senders {
				wg.Go(func() {
					c := ratelimit.Charge{Account: 1, Key: petcat.KeyID(sender + 1), Quota: tc.quota}
					for range tc.requests {
						d, err := r.limiter.Spend(t.Context(), c)
						if err != nil {
							t.Errorf("Spend: %v", err)
							return
						}
						if d.Verdict != ratelimit.Admitted {
							continue
						}
						if n := admitted.Add(1); n > tc.want {
							t.Errorf("request %d was admitted", n)
							return
						}
						used := tc.quota.PerDay - d.Day.Remaining
						if used < 1 || used > tc.want {
							t.Errorf("an admitted request was told %d used of the day", used)
							return
						}
						remaining[used-1].Add(1)
					}
				})
			}
			wg.Wait()
			wantEqual(t, "admitted", admitted.Load(), tc.want)
			for i := range remaining {
				if n := remaining[i].Load(); n != 1 {
					t.Fatalf("%d requests were told that they are the day's %d.", n, i+1)
				}
			}
		})
	}
}

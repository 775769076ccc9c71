package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"petcat"
)

// refusal is one at a moment; the moment names it.
func refusal(at time.Time) petcat.Refusal {
	return petcat.Refusal{
		At: at, RequestID: fmt.Sprintf("abc-%d", at.UnixMilli()), Key: 3, Operation: petcat.OpListCategories, Status: 429, Code: petcat.CodeRateLimitExceeded,
		Minute: petcat.Spent{Used: 60, Limit: 60}, Day: petcat.Spent{Used: 61, Limit: 1_000}, Until: noon.Add(time.Minute),
	}
}

func (f *fixture) refuse(t *testing.T, account petcat.AccountID, refusals ...petcat.Refusal) {
	t.Helper()
	if err := f.AddRefusals(t.Context(), []petcat.AccountRefusals{{Account: account, Refusals: refusals}}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) wantRefusals(t *testing.T, account petcat.AccountID, want ...petcat.Refusal) {
	t.Helper()
	got, err := f.Refusals(t.Context(), account)
	wantEqual(t, "the refusals of "+account.String(), want, must(t, got, err))
}

func testRefusals(t *testing.T, open Open) {
	t.Run("the last twenty, newest first", func(t *testing.T) {
		f := start(t, open)
		var all []petcat.Refusal
		for n := range 50 {
			all = append(all, refusal(noon.Add(time.Duration(n)*time.Millisecond)))
		}
		f.refuse(t, 7, all[10:40]...)
		f.refuse(t, 7, all[:10]...) // of a node that was away
		f.refuse(t, 8, all[0])
		f.refuse(t, 7, all[38:]...) // two of them again
		slices.Reverse(all)
		f.wantRefusals(t, 7, all[:petcat.RecentRefusals]...)
		f.wantRefusals(t, 8, all[49])
		f.wantRefusals(t, 9)
	})
	t.Run("all that is known of them", func(t *testing.T) {
		f := start(t, open)
		bare := petcat.Refusal{At: noon, RequestID: "x", Key: 1, Status: 503, Code: petcat.CodeServiceUnavailable}
		full := refusal(noon.Add(time.Second))
		byShare := refusal(noon.Add(2 * time.Second))
		byShare.ByShare, byShare.Minute.Used = true, 0
		f.refuse(t, 7, bare, full, byShare)
		f.wantRefusals(t, 7, byShare, full, bare)
	})
	t.Run("two nodes at once", func(t *testing.T) {
		f := start(t, open)
		other := f.another(t)
		var all sync.WaitGroup
		for n, s := range []Store{f.Store, other} {
			all.Go(func() {
				for i := range 10 {
					r := refusal(noon.Add(time.Duration(2*i+n) * time.Second))
					if err := s.AddRefusals(t.Context(), []petcat.AccountRefusals{{Account: 7, Refusals: []petcat.Refusal{r}}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		var want []petcat.Refusal
		for i := range 20 {
			want = append(want, refusal(noon.Add(time.Duration(19-i)*time.Second)))
		}
		f.wantRefusals(t, 7, want...)
	})
	t.Run("are forgotten after thirty days", func(t *testing.T) {
		f := start(t, open)
		f.refuse(t, 7, refusal(noon))
		f.clock.Advance(30*24*time.Hour - time.Minute)
		f.clean(t)
		f.wantRefusals(t, 7, refusal(noon))
		f.clock.Advance(time.Minute)
		f.clean(t)
		f.wantRefusals(t, 7)
	})
}

package e2e

import (
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"petcat"
)

// window is what became of the requests that one window of the limits saw.
type window struct{ admitted, refused int }

// TestLimitHoldsAgainstManyClients sends one key's requests from many clients at
// once. The minute may end in between, so that each answer counts for the
// minute whose end it names.
func TestLimitHoldsAgainstManyClients(t *testing.T) {
	const clients, requests, limit = 64, 200, 60
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	openAccount(t, data, "acme", "free")
	_, key := issueKey(t, data, "acme")

	var mu sync.Mutex
	minutes := make(map[int64]*window)
	work := make(chan struct{}, requests)
	for range requests {
		work <- struct{}{}
	}
	close(work)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range work {
				a, err := s.try(http.MethodGet, s.api+"/v1/categories", nil, withKey(key))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				end := a.number(t, "X-RateLimit-Reset")
				if minutes[end] == nil {
					minutes[end] = &window{}
				}
				switch {
				case a.StatusCode == http.StatusOK:
					minutes[end].admitted++
				case a.code() == petcat.CodeRateLimitExceeded:
					minutes[end].refused++
				default:
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	seen := 0
	for end, m := range minutes {
		seen += m.admitted + m.refused
		if want := min(limit, m.admitted+m.refused); m.admitted != want {
			t.Errorf("the minute until %d admitted %d of %d", end, m.admitted, m.admitted+m.refused)
		}
	}
	if seen != requests {
		t.Errorf("%d of %d requests were answered", seen, requests)
	}
}

// dayAccount opens an account whose day has few requests and whose minute never
// ends one.
func dayAccount(t *testing.T, data string) (key string) {
	t.Helper()
	awaitRoomInDay(t, 40*time.Second)
	openAccount(t, data, "acme", "enterprise", "--per-minute", "1000000", "--per-day", "1000")
	_, key = issueKey(t, data, "acme")
	return key
}

// spend sends requests from several clients until some number was admitted, the
// day is spent, or the server is gone. Unanswered ones may have been charged.
func (s *server) spend(key string, most int) (admitted, unanswered int, spent bool) {
	const clients = 4
	var mu sync.Mutex
	begun := 0
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for {
				mu.Lock()
				if begun == most || spent || unanswered > 0 {
					mu.Unlock()
					return
				}
				begun++
				mu.Unlock()
				a, err := s.try(http.MethodGet, s.api+"/v1/categories", nil, withKey(key))
				mu.Lock()
				switch {
				case err != nil:
					unanswered++
				case a.StatusCode == http.StatusOK:
					admitted++
				case a.code() == petcat.CodeDailyQuotaExceeded:
					spent = true
				default:
					s.t.Errorf("%d %s", a.StatusCode, a.body)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return admitted, unanswered, spent
}

// TestDayLosesNothingInOrderlyRestarts: a day of 1,000 is 1,000, however often
// the server is restarted in it.
func TestDayLosesNothingInOrderlyRestarts(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := dayAccount(t, data)
	total := 0
	for _, part := range []int{1, 2, 3, 250, 77} {
		admitted, _, _ := s.spend(key, part)
		total += admitted
		left := s.list(key).dayLeft(t)
		total++
		s.mustStop()
		s = serve(t, data)
		if after := s.list(key).dayLeft(t); after != left-1 {
			t.Errorf("%d requests were left, and %d after a restart and one more", left, after)
		}
		total++
	}
	admitted, _, spent := s.spend(key, 2000)
	if total += admitted; total != 1000 || !spent {
		t.Errorf("the day admitted %d requests; want 1000", total)
	}
	s.mustStop()
	s = serve(t, data)
	wantError(t, s.list(key), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
}

// TestDayIsNeverExceededByKills kills the server in the middle of a day, again
// and again. A request is charged in the store before it is admitted, in blocks
// of 1/200 of the day, and a block is asked for when half of one is left: so at
// a kill at most 1.5 blocks, 8 requests of 1,000, are written down and not
// spent. They are lost to the account. The server never forgets one that it
// admitted.
func TestDayIsNeverExceededByKills(t *testing.T) {
	const kills, lostPerKill = 6, 8
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := dayAccount(t, data)
	total, perhaps := 0, 0
	for i := range kills {
		killed := make(chan struct{})
		if i%2 == 0 { // between requests
			admitted, _, _ := s.spend(key, 101+i)
			total += admitted
			s.kill()
		} else { // amid requests
			go func() {
				defer close(killed)
				within(time.Duration(10*i)*time.Millisecond, func() bool { return false })
				s.kill()
			}()
			admitted, unanswered, _ := s.spend(key, 150)
			total, perhaps = total+admitted, perhaps+unanswered
			<-killed
		}
		s = serve(t, data)
	}
	admitted, _, spent := s.spend(key, 2000)
	total += admitted
	if !spent {
		t.Errorf("the day did not end")
	}
	t.Logf("%d kills: %d requests admitted, %d unanswered", kills, total, perhaps)
	if total > 1000 {
		t.Errorf("the day admitted %d requests; its quota is 1000", total)
	}
	if total+perhaps < 1000-kills*lostPerKill {
		t.Errorf("the day admitted %d requests, and %d were not answered: more than %d per kill were lost", total, perhaps, lostPerKill)
	}
}

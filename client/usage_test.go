package client_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/client"
)

func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c := newClient(t, s)
		midnight := time.Now()
		time.Sleep(12 * time.Second)
		must(t, createAll(t.Context(), c, "cat", 3))
		got, err := c.Usage(t.Context())
		must(t, err)
		want := client.Usage{Plan: "free", Windows: []client.WindowUsage{
			{Window: "minute", Limit: 60, Used: 3, Remaining: 57, Reset: midnight.Add(time.Minute)},
			{Window: "day", Limit: 1000, Used: 3, Remaining: 997, Reset: midnight.Add(24 * time.Hour)},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
		s.ban(time.Hour)
		got, err = c.Usage(t.Context())
		must(t, err)
		if want := time.Now().Add(time.Hour); got.Ban == nil || !got.Ban.Until.Equal(want) {
			t.Errorf("the ban is %+v, want one until %s", got.Ban, want)
		}
	})
}

// TestUsageReopens: who asks for the usage hears of a new plan, and so does whoever waits;
// while the day is spent or the key is banned, nothing is sent.
func TestUsageReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c := newClient(t, s, client.WithMaxWait(48*time.Hour))
		s.use(1000)
		begun := time.Now()
		done := make(chan error)
		go func() { done <- createAll(t.Context(), c, "cat", 20) }()
		time.Sleep(time.Hour)
		_, err := c.Usage(t.Context())
		must(t, err)
		synctest.Wait()
		if requests := s.log(); len(requests) != 2 {
			t.Fatalf("%d requests while the day is spent, want the first create and the usage", len(requests))
		}
		s.mu.Lock()
		s.day.quota = 10_000
		s.mu.Unlock()
		_, err = c.Usage(t.Context())
		must(t, err)
		must(t, <-done)
		if took := time.Since(begun); took > time.Hour+2*time.Minute {
			t.Errorf("it took %s", took)
		}
		wantEachOnce(t, s, 20)
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c := newClient(t, s)
		if got := c.Limits(); got.Limit != 0 || got.Windows != nil {
			t.Errorf("before the first answer: %+v", got)
		}
		midnight := time.Now()
		time.Sleep(12 * time.Second)
		for range 3 { // of answers that come at once, any may be the last
			must(t, createAll(t.Context(), c, "cat", 1))
		}
		want := client.Limits{
			Limit: 60, Remaining: 57, Reset: midnight.Add(time.Minute), Received: time.Now(),
			Windows: []client.Window{
				{Name: "minute", Limit: 60, Length: time.Minute, Remaining: 57, Reset: midnight.Add(time.Minute)},
				{Name: "day", Limit: 1000, Length: 24 * time.Hour, Remaining: 997, Reset: midnight.Add(24 * time.Hour)},
			},
		}
		if diff := cmp.Diff(want, c.Limits()); diff != "" {
			t.Errorf("limits (-want +got):\n%s", diff)
		}
	})
}

// TestLimitsOfUsage: who asks for the usage too often is told how often one may ask, which
// is none of the account's windows.
func TestLimitsOfUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c := dial(t, client.WithTransport(&faults{service: s, first: []func(*http.Request) (*http.Response, error){
			s.RoundTrip, s.RoundTrip,
			says(http.StatusTooManyRequests, client.CodeRateLimitExceeded, "Retry-After", "60", "X-RateLimit-Limit", "60",
				"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(time.Now().Unix()+60, 10),
				"RateLimit", `"usage";r=0;t=60`, "RateLimit-Policy", `"usage";q=60;w=60`),
		}}), client.WithMaxWait(time.Second))
		must(t, createAll(t.Context(), c, "cat", 1))
		_, err := c.Usage(t.Context())
		must(t, err)
		want := c.Limits()
		_, err = c.Usage(t.Context())
		wantCode(t, err, client.CodeRateLimitExceeded)
		if diff := cmp.Diff(want, c.Limits()); diff != "" || want.Remaining != 59 {
			t.Errorf("limits (-want +got):\n%s", diff)
		}
	})
}

// TestLimitsOfNoAccount: the headers of an answer to a wrong key are those of an address.
func TestLimitsOfNoAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(60, 1000)
		c, err := client.New("http://petcat.test/v1", "pck_test_wrong", client.WithTransport(s))
		must(t, err)
		for range 3 {
			_, err = c.Categories.List(t.Context())
			wantCode(t, err, client.CodeInvalidAPIKey)
		}
		if w := c.Limits().Windows; len(w) != 1 || w[0].Name != "address" || w[0].Limit != 600 {
			t.Errorf("the windows are %+v", w)
		}
		if requests := s.log(); len(requests) != 3 {
			t.Errorf("%d requests for 3 calls", len(requests))
		}
	})
}

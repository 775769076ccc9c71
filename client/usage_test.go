package client_test

import (
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

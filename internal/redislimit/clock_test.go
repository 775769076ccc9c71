package redislimit

import (
	"testing"
	"time"

	"petcat/internal/clock"
	"petcat/internal/ratelimit"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestServerClock(t *testing.T) {
	node := clock.NewManual(noon)
	c := &serverClock{source: node}
	if c.floor() != 0 {
		t.Error("something is known before the server told the time")
	}
	if got := c.Read().Time(); !got.Equal(noon) {
		t.Errorf("before the server told the time it is %s, want the node's", got)
	}

	// The server is a minute ahead of the node.
	server := noon.Add(time.Minute)
	c.observe(server.UnixNano())
	if got := time.Unix(0, c.floor()); !got.Equal(server) {
		t.Errorf("floor = %s, want %s", got, server)
	}
	if got := c.Read().Time(); !got.Equal(server) {
		t.Errorf("it is %s, want the server's %s", got, server)
	}

	// The node's wall clock does not matter; nor does an answer that took long.
	node.Step(-time.Hour)
	node.Advance(10 * time.Second)
	c.observe(server.Add(9 * time.Second).UnixNano())
	if got := c.Read().Time(); !got.Equal(server.Add(10 * time.Second)) {
		t.Errorf("it is %s, want %s", got, server.Add(10*time.Second))
	}
	// The floor allows for a clock that runs fast: ten milliseconds in ten seconds.
	if got, want := time.Unix(0, c.floor()), server.Add(9990*time.Millisecond); !got.Equal(want) {
		t.Errorf("floor = %s, want %s", got, want)
	}

	// The server's clock is set back by an hour: the floor stays and goes on.
	c.observe(server.Add(-time.Hour).UnixNano())
	node.Advance(20 * time.Second)
	if got, want := time.Unix(0, c.floor()), server.Add(29970*time.Millisecond); !got.Equal(want) {
		t.Errorf("floor after a step back = %s, want %s", got, want)
	}
	// And forward by two: that is followed at once.
	ahead := server.Add(2 * time.Hour)
	c.observe(ahead.UnixNano())
	if got := time.Unix(0, c.floor()); !got.Equal(ahead) {
		t.Errorf("floor after a step forward = %s, want %s", got, ahead)
	}
}

// A node's clock that runs fast, but by less than one in a thousand, never
// makes the floor pass the server's time.
func TestServerClockDrift(t *testing.T) {
	node := clock.NewManual(noon)
	c := &serverClock{source: node}
	server := noon
	c.observe(server.UnixNano())
	for i := range 1_000 {
		passed := time.Duration(1+i) * 50 * time.Millisecond
		server = server.Add(passed)
		node.Advance(passed + passed/1_100)
		if floor := time.Unix(0, c.floor()); floor.After(server) {
			t.Fatalf("step %d: the floor is %s ahead of the server", i, floor.Sub(server))
		}
		c.observe(server.UnixNano())
	}
}

// By the limiter's clock on top of it, time never falls.
func TestLocalTimeNeverFalls(t *testing.T) {
	node := clock.NewManual(noon)
	c := &serverClock{source: node}
	local := ratelimit.NewClock(c)
	before := local.Now()
	c.observe(noon.Add(-time.Hour).UnixNano())
	if now := local.Now(); now < before {
		t.Errorf("the time fell by %s when the server was reached", time.Duration(before-now))
	}
}

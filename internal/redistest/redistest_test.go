package redistest_test

import (
	"strings"
	"testing"

	"petcat/internal/proxytest"
	"petcat/internal/redistest"
)

func TestServer(t *testing.T) {
	s := redistest.Start(t)
	s.MustDo("SET", "a", "1")
	if got := s.MustDo("MGET", "a", "b"); got != "1\n" {
		t.Errorf("MGET answers %q", got)
	}
	if _, err := s.Do("NONSENSE"); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("NONSENSE: %v", err)
	}

	s.Hang()
	if _, err := s.Do("PING"); err == nil {
		t.Error("a server that hangs answers")
	}
	s.Resume()
	if got := s.MustDo("GET", "a"); got != "1" {
		t.Errorf("after hanging it holds %q", got)
	}

	s.Kill()
	if _, err := s.Do("PING"); err == nil {
		t.Error("a server that was killed answers")
	}
	s.Restart()
	if got := s.MustDo("GET", "a"); got != "" {
		t.Errorf("after a restart it holds %q", got)
	}
}

// TestTakeOver: a replica that is left behind listens in the place of its primary.
func TestTakeOver(t *testing.T) {
	primary := redistest.Start(t)
	proxy := proxytest.New(t, primary.Address())
	primary.MustDo("SET", "a", "1")
	replica := redistest.Start(t)
	replica.Follow(proxy.Address())
	proxy.Cut()
	primary.MustDo("SET", "a", "2")
	address := primary.Address()
	primary.Kill()
	replica.TakeOver(primary)
	if replica.Address() != address {
		t.Errorf("it listens on %s; want %s", replica.Address(), address)
	}
	if got := replica.MustDo("GET", "a"); got != "1" {
		t.Errorf("it holds %q, want what it heard of before the cut", got)
	}
	replica.MustDo("SET", "a", "3")
	replica.Restart()
	if got := replica.MustDo("GET", "a"); got != "" || replica.Address() != address {
		t.Errorf("after a restart it holds %q and listens on %s", got, replica.Address())
	}
}

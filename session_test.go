package petcat_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestSessionEnds(t *testing.T) {
	s := petcat.Session{CreatedAt: noon, SeenAt: noon.Add(time.Hour)}
	for after, want := range map[time.Duration]bool{
		0: false, time.Hour + petcat.SessionIdle - 1: false, time.Hour + petcat.SessionIdle: true,
	} {
		if got := s.Expired(noon.Add(after)); got != want {
			t.Errorf("after %s: expired %v", after, got)
		}
	}
	s.SeenAt = noon.Add(petcat.SessionLife - time.Minute)
	if s.Expired(noon.Add(petcat.SessionLife-1)) || !s.Expired(noon.Add(petcat.SessionLife)) {
		t.Error("a session in use does not end after SessionLife")
	}
	if s.Stale(s.SeenAt.Add(petcat.SessionTouch-1)) || !s.Stale(s.SeenAt.Add(petcat.SessionTouch)) {
		t.Error("a session is not recorded once a minute")
	}
}

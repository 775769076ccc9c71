package petcat_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestTokens(t *testing.T) {
	g, err := petcat.GenerateToken(bytes.NewReader(bytes.Repeat([]byte{0xA5}, 40)))
	if err != nil {
		t.Fatal(err)
	}
	text := g.Secret.Reveal()
	hash, err := petcat.ParseToken(text)
	if err != nil || hash != g.Hash || len(text) != 32 {
		t.Errorf("%d characters, hashes equal: %v, %v", len(text), hash == g.Hash, err)
	}
	for _, other := range []string{"", text[1:], text + "a", strings.ToUpper(text), strings.Repeat("1", 32), " " + text[1:]} {
		if _, err := petcat.ParseToken(other); petcat.CodeOf(err) != petcat.CodeNotFound || strings.Contains(err.Error(), text[2:]) {
			t.Errorf("%q: %v", other, err)
		}
	}
	if _, err := petcat.GenerateToken(strings.NewReader("short")); err == nil {
		t.Error("GenerateToken succeeds with too few random bytes")
	}
}

func TestSessionEnds(t *testing.T) {
	s := petcat.Session{CreatedAt: noon, SeenAt: noon.Add(time.Hour)}
	for after, want := range map[time.Duration]bool{
		0: false, time.Hour + petcat.SessionIdle - 1: false, time.Hour + petcat.SessionIdle: true,
	} {
		if got := s.Ended(noon.Add(after)); got != want {
			t.Errorf("after %s: ended %v", after, got)
		}
	}
	s.SeenAt = noon.Add(petcat.SessionLife - time.Minute)
	if s.Ended(noon.Add(petcat.SessionLife-1)) || !s.Ended(noon.Add(petcat.SessionLife)) {
		t.Error("a session in use does not end after SessionLife")
	}
	if s.Stale(s.SeenAt.Add(petcat.SessionTouch-1)) || !s.Stale(s.SeenAt.Add(petcat.SessionTouch)) {
		t.Error("a session is not recorded once a minute")
	}
}

package petcat_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
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
	for _, other := range []string{
		"", text[1:], text + "a", strings.ToUpper(text), strings.Repeat("1", 32), " " + text[1:],
	} {
		if _, err := petcat.ParseToken(other); petcat.CodeOf(err) != petcat.CodeNotFound ||
			strings.Contains(err.Error(), text[2:]) {
			t.Errorf("%q: %v", other, err)
		}
	}
	if _, err := petcat.GenerateToken(strings.NewReader("short")); err == nil {
		t.Error("GenerateToken succeeds with too few random bytes")
	}
}

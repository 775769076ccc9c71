package clientnet_test

import (
	"net/netip"
	"testing"

	"github.com/petcat-api/petcat/internal/clientnet"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::ffff:0:0:1", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"0.0.0.0", "::", false},
	} {
		if same := clientnet.Of(netip.MustParseAddr(c.a)) == clientnet.Of(netip.MustParseAddr(c.b)); same != c.same {
			t.Errorf("%s and %s: %t, want %t", c.a, c.b, same, c.same)
		}
	}
}

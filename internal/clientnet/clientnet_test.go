package clientnet_test

import (
	"net/netip"
	"testing"

	"petcat/internal/clientnet"
)

func TestBits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address string
		bits    uint64
		v4      bool
	}{
		{"192.0.2.1", 0xc0000201, true},
		{"::ffff:192.0.2.1", 0xc0000201, true},
		{"2001:db8:0:7:1:2:3:4", 0x2001_0db8_0000_0007, false},
	} {
		if bits, v4 := clientnet.Of(netip.MustParseAddr(c.address)).Bits(); bits != c.bits || v4 != c.v4 {
			t.Errorf("%s: %#x, %t", c.address, bits, v4)
		}
	}
}

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

package petcat_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestParseNetworks(t *testing.T) {
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprintf("10.%d.0.0/16", i)
	}
	for _, c := range []struct {
		name  string
		texts []string
		want  petcat.Networks
		code  petcat.Code
	}{
		{"none", nil, "", ""},
		{"both kinds", []string{"192.0.2.0/24", "2001:DB8::/32"}, "192.0.2.0/24 2001:db8::/32", ""},
		{"an address", []string{"192.0.2.7", "::1"}, "192.0.2.7/32 ::1/128", ""},
		{"an address in a network", []string{"192.0.2.7/24"}, "192.0.2.0/24", ""},
		{"one twice", []string{"192.0.2.0/24", "192.0.2.1/24"}, "192.0.2.0/24", ""},
		{"the most", many[:16], petcat.Networks(strings.Join(many[:16], " ")), ""},
		{"too many", many, "", petcat.CodeInvalidField},
		{"no network", []string{"office"}, "", petcat.CodeInvalidField},
		{"empty", []string{""}, "", petcat.CodeInvalidField},
		{"two in one text", []string{"192.0.2.0/24 10.0.0.0/8"}, "", petcat.CodeInvalidField},
		{"too long a prefix", []string{"192.0.2.0/33"}, "", petcat.CodeInvalidField},
		{"a zone", []string{"fe80::1%eth0"}, "", petcat.CodeInvalidField},
		{"IPv4 in IPv6, which no address is", []string{"::ffff:192.0.2.0/120"}, "", petcat.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := petcat.ParseNetworks(c.texts)
			wantCode(t, err, c.code)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	typed, err := petcat.ReadNetworks(" 192.0.2.0/24,\n2001:db8::/32\t10.0.0.1 ")
	wantCode(t, err, "")
	if want := petcat.Networks("192.0.2.0/24 2001:db8::/32 10.0.0.1/32"); typed != want {
		t.Errorf("got %q, want %q", typed, want)
	}
}

func TestNetworksContain(t *testing.T) {
	for _, c := range []struct {
		networks petcat.Networks
		address  string
		want     bool
	}{
		{"", "192.0.2.1", true},
		{"192.0.2.0/24", "192.0.2.1", true},
		{"192.0.2.0/24", "::ffff:192.0.2.1", true},
		{"192.0.2.0/24", "192.0.3.1", false},
		{"10.0.0.0/8 2001:db8::/32", "2001:db8:1::1", true},
		{"10.0.0.0/8 2001:db8::/32", "2001:db9::1", false},
		{"0.0.0.0/0", "::", false},
	} {
		if got := c.networks.Contain(netip.MustParseAddr(c.address)); got != c.want {
			t.Errorf("%q, %s: got %t, want %t", c.networks, c.address, got, c.want)
		}
	}
}

package clientnet_test

import (
	"net/netip"
	"testing"

	"petcat/internal/clientnet"
)

func TestClient(t *testing.T) {
	t.Parallel()
	proxies := clientnet.Proxies{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	for name, c := range map[string]struct {
		proxies   clientnet.Proxies
		remote    string
		forwarded []string
		want      string
	}{
		"no proxies":                   {nil, "127.0.0.1:1234", []string{"192.0.2.1"}, "127.0.0.1"},
		"not a proxy":                  {proxies, "192.0.2.9:1234", []string{"192.0.2.1"}, "192.0.2.9"},
		"a proxy that says nothing":    {proxies, "127.0.0.1:1234", nil, "127.0.0.1"},
		"the last that is not a proxy": {proxies, "127.0.0.1:1234", []string{"192.0.2.1, 192.0.2.2,10.1.2.3"}, "192.0.2.2"},
		"in two lines":                 {proxies, "127.0.0.1:1234", []string{"192.0.2.1", "10.1.2.3"}, "192.0.2.1"},
		"proxies alone":                {proxies, "127.0.0.1:1234", []string{"10.1.2.3"}, "10.1.2.3"},
		"no address":                   {proxies, "127.0.0.1:1234", []string{"192.0.2.1, garbage"}, "127.0.0.1"},
		"IPv4 within IPv6":             {proxies, "[::ffff:127.0.0.1]:1234", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		"a zone":                       {proxies, "127.0.0.1:1234", []string{"fe80::1%eth0"}, "fe80::1"},
		"a Unix socket":                {proxies, "@", []string{"192.0.2.1"}, "::"},
	} {
		if got := c.proxies.Client(c.remote, c.forwarded); got.String() != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

package clientnet_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/petcat-api/petcat/internal/clientnet"
)

func TestClient(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	proxies := clientnet.NewProxies([]netip.Prefix{netip.MustParsePrefix(
		"127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.NewTextHandler(&log, nil)))
	const proxy = "127.0.0.1:1234"
	check := func(name string, p *clientnet.Proxies, remote string, headers []string, want string) {
		t.Helper()
		h := http.Header{}
		for i := 0; i < len(headers); i += 2 {
			h.Add(headers[i], headers[i+1])
		}
		if got := p.Client(remote, h); got.String() != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	const forwarded = "X-Forwarded-For"
	for _, c := range []struct {
		name    string
		proxies *clientnet.Proxies
		remote  string
		headers []string // names and values
		want    string
	}{
		{"no proxies", nil, proxy, []string{"X-Forwarded-For", "192.0.2.1"}, "127.0.0.1"},
		{"not a proxy", proxies, "192.0.2.9:1234", []string{"X-Forwarded-For", "192.0.2.1"}, "192.0.2.9"},
		{"the last that is no proxy", proxies, proxy, []string{forwarded, "192.0.2.1, 192.0.2.2,10.1.2.3"}, "192.0.2.2"},
		{"in two lines", proxies, proxy, []string{forwarded, "192.0.2.1", forwarded, "10.1.2.3"}, "192.0.2.1"},
		{"proxies alone", proxies, proxy, []string{"X-Forwarded-For", "10.1.2.3"}, "10.1.2.3"},
		{"IPv4 in IPv6", proxies, "[::ffff:127.0.0.1]:1234", []string{forwarded, "::ffff:192.0.2.1"}, "192.0.2.1"},
		{"a zone", proxies, proxy, []string{"X-Forwarded-For", "fe80::1%eth0"}, "fe80::1"},
		{"a Unix socket", proxies, "@", []string{"X-Forwarded-For", "192.0.2.1"}, "::"},
		{"a port", proxies, proxy, []string{"X-Forwarded-For", "198.51.100.9:1234"}, "198.51.100.9"},
		{"a port behind another", proxies, proxy, []string{forwarded, "198.51.100.9:1, 10.1.2.3:2"}, "198.51.100.9"},
		{"IPv6 and a port", proxies, proxy, []string{"X-Forwarded-For", "[2001:db8::1]:99"}, "2001:db8::1"},
		{"brackets", proxies, proxy, []string{"X-Forwarded-For", "[2001:db8::1]"}, "2001:db8::1"},
		{"quotes", proxies, proxy, []string{"X-Forwarded-For", `"[2001:db8::1]:99"`}, "2001:db8::1"},
		{
			"Forwarded", proxies, proxy,
			[]string{"Forwarded", `for=192.0.2.1;proto=https, For="[2001:db8::1]:99";host="a,for=192.0.2.7\";for=192.0.2.8"`},
			"2001:db8::1",
		},
		{"both", proxies, proxy, []string{"Forwarded", "for=192.0.2.1", "X-Forwarded-For", "192.0.2.2"}, "192.0.2.2"},
		{"a proxy that says nothing", proxies, proxy, nil, "127.0.0.1"},
	} {
		check(c.name, c.proxies, c.remote, c.headers, c.want)
	}
	if log.Len() > 0 {
		t.Errorf("valid addresses are logged: %s", &log)
	}
	check("nothing that can be read", proxies, proxy, []string{"X-Forwarded-For", "192.0.2.1, garbage"}, "127.0.0.1")
	check("no client in Forwarded", proxies, proxy, []string{"Forwarded", "for=192.0.2.1, proto=https"}, "127.0.0.1")
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("invalid addresses are logged %d times: %s", n, &log)
	}
}

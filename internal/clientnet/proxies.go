package clientnet

import (
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks of the proxies whose headers are trusted.
type Proxies []netip.Prefix

// Contain reports whether an address is that of a trusted proxy.
func (p Proxies) Contain(a netip.Addr) bool {
	for _, network := range p {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// Remote returns the address of the connection's other end, of which the RemoteAddr of a
// request tells.
func Remote(remoteAddr string) netip.Addr {
	address, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return netip.IPv6Unspecified() // a Unix socket, say: all its clients count as one
	}
	return address.Addr().Unmap()
}

// Client returns the address of the client of a request: that of the connection, or, if that
// is a trusted proxy, the last address in the values of X-Forwarded-For that is not one. A
// client can invent everything before that address.
func (p Proxies) Client(remoteAddr string, forwardedFor []string) netip.Addr {
	client := Remote(remoteAddr)
	if !p.Contain(client) {
		return client
	}
	hops := strings.Split(strings.Join(forwardedFor, ","), ",")
	for _, text := range slices.Backward(hops) {
		hop, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			break // no proxy wrote this
		}
		client = hop.Unmap().WithZone("") // a zone is a text of any length
		if !p.Contain(client) {
			break
		}
	}
	return client
}

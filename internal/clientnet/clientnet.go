// Package clientnet finds the client address of a request, also behind trusted proxies, and maps
// addresses to clients: an IPv4 address, or an IPv6 /64, the usual network of one subscriber.
package clientnet

import (
	"encoding/binary"
	"net/netip"
)

// Net identifies a client. All invalid addresses are the same client.
type Net struct {
	bits uint64
	v4   bool
}

// Of returns the client of an address.
func Of(a netip.Addr) Net {
	a = a.Unmap()
	if a.Is4() {
		v4 := a.As4()
		return Net{bits: uint64(binary.BigEndian.Uint32(v4[:])), v4: true}
	}
	v6 := a.As16()
	return Net{bits: binary.BigEndian.Uint64(v6[:8])}
}

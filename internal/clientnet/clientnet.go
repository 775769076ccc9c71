// Package clientnet finds the client address of a request, also behind trusted
// proxies, and which addresses count as one client: an IPv4 address by itself, and IPv6
// addresses by their /64, which is what one subscriber gets.
package clientnet

import (
	"encoding/binary"
	"net/netip"
)

// Net is what counts as one client. All invalid addresses are one.
type Net struct {
	bits uint64
	v4   bool
}

// Of returns the client that an address belongs to.
func Of(a netip.Addr) Net {
	a = a.Unmap()
	if a.Is4() {
		v4 := a.As4()
		return Net{bits: uint64(binary.BigEndian.Uint32(v4[:])), v4: true}
	}
	v6 := a.As16()
	return Net{bits: binary.BigEndian.Uint64(v6[:8])}
}

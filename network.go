package petcat

import (
	"net/netip"
	"slices"
	"strings"
)

// ParseNetwork parses a network in CIDR notation, such as 192.0.2.0/24, or an address, which is a network
// of one. It returns an [Error] with [CodeInvalidField].
func ParseNetwork(s string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(s); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, Errorf(CodeInvalidField,
			"a network is in CIDR notation, such as 192.0.2.0/24 or 2001:db8::/32 (got %.64q)", s).In("networks")
	}
	return prefix.Masked(), nil
}

// MaxNetworks is the maximum number of networks of a key.
const MaxNetworks = 16

// Networks are the networks in which a key works, in CIDR notation with spaces between them; "": it works
// everywhere. Only [ParseNetworks] makes valid ones.
type Networks string

// ParseNetworks parses at most [MaxNetworks] networks as [ParseNetwork] does. Repeated ones are left out.
func ParseNetworks(texts []string) (Networks, error) {
	var all []string
	for _, text := range texts {
		network, err := ParseNetwork(text)
		if err != nil {
			return "", err
		}
		if !slices.Contains(all, network.String()) {
			all = append(all, network.String())
		}
		if len(all) > MaxNetworks {
			return "", Errorf(CodeInvalidField,
				"a key has at most %d networks; combine some into larger ones", MaxNetworks).In("networks")
		}
	}
	return Networks(strings.Join(all, " ")), nil
}

// ReadNetworks is [ParseNetworks] for a text that a person typed, with commas or white space between the
// networks.
func ReadNetworks(text string) (Networks, error) {
	return ParseNetworks(strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) }))
}

// List returns each network.
func (n Networks) List() []string { return strings.Fields(string(n)) }

// Contain reports whether a key with these networks works at an address.
func (n Networks) Contain(address netip.Addr) bool {
	if n == "" {
		return true
	}
	for _, text := range n.List() {
		network, err := netip.ParsePrefix(text)
		if err == nil && network.Contains(address.Unmap()) {
			return true
		}
	}
	return false
}

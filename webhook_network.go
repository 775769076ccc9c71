package petcat

import "net/netip"

// WebhookNetworks are the networks of receivers that are not on the Internet, or lack TLS.
type WebhookNetworks []netip.Prefix

// Check returns an [Error] with [CodeInvalidField] unless events may be sent to an address. Others are
// rejected, so that the service cannot be made to call hosts in its own network, such as the metadata of
// a cloud. plain is true without TLS.
func (n WebhookNetworks) Check(address netip.Addr, plain bool) error {
	address = address.Unmap().WithZone("")
	for _, network := range n {
		if network.Contains(address) {
			return nil
		}
	}
	if plain {
		return Errorf(CodeInvalidField, "without TLS, events are only sent to the networks of "+
			"--webhook-allow (PETCAT_WEBHOOK_ALLOW), and %s is in none", address).In("url")
	}
	if !isPublic(address) {
		return Errorf(CodeInvalidField, "%s is not a public address; "+
			"allow its network with --webhook-allow (PETCAT_WEBHOOK_ALLOW)", address).In("url")
	}
	return nil
}

// isPublic reports whether an address, which is not IPv4 in IPv6, is public by IANA's registries.
func isPublic(address netip.Addr) bool {
	if address.Is6() && !netip.MustParsePrefix("2000::/3").Contains(address) {
		return false
	}
	for _, special := range []string{
		"0.0.0.0/8",       // this host
		"10.0.0.0/8",      // private
		"100.64.0.0/10",   // carriers
		"127.0.0.0/8",     // loopback
		"169.254.0.0/16",  // link-local, and the metadata of clouds
		"172.16.0.0/12",   // private
		"192.0.0.0/24",    // protocols
		"192.0.2.0/24",    // documentation
		"192.88.99.0/24",  // relays of IPv6
		"192.168.0.0/16",  // private
		"198.18.0.0/15",   // measurements
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"224.0.0.0/3",     // multicast, reserved and broadcast
		"2001::/23",       // protocols, and Teredo, which contains an IPv4 address
		"2001:db8::/32",   // documentation
		"2002::/16",       // 6to4, which contains an IPv4 address
		"3fff::/20",       // documentation
	} {
		if netip.MustParsePrefix(special).Contains(address) {
			return false
		}
	}
	return address.IsValid()
}

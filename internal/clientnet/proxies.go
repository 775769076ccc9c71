package clientnet

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Proxies are the proxies whose headers are trusted. A nil *Proxies trusts none.
type Proxies struct {
	networks []netip.Prefix
	logger   *slog.Logger
	warn     sync.Once // an address could not be read
}

// NewProxies returns the proxies in these networks, nil if there are none. The first address
// of a client that cannot be read is logged.
func NewProxies(networks []netip.Prefix, logger *slog.Logger) *Proxies {
	if len(networks) == 0 {
		return nil
	}
	return &Proxies{networks: networks, logger: logger}
}

// Contain reports whether an address is that of a trusted proxy.
func (p *Proxies) Contain(a netip.Addr) bool {
	return p != nil && slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Remote returns the address of the connection's other end from a request's RemoteAddr.
func Remote(remoteAddr string) netip.Addr {
	address, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return netip.IPv6Unspecified() // a Unix socket, say: all its clients count as one
	}
	return address.Addr().Unmap()
}

// Client returns the address of the client of a request: that of the connection, or, if that
// is a trusted proxy, the last address in X-Forwarded-For that is not one. A client can
// invent everything before that address. Without X-Forwarded-For, it is read from Forwarded
// (RFC 7239).
func (p *Proxies) Client(remoteAddr string, h http.Header) netip.Addr {
	client := Remote(remoteAddr)
	if !p.Contain(client) || len(h["X-Forwarded-For"])+len(h["Forwarded"]) == 0 {
		return client
	}
	hops := strings.Split(strings.Join(h["X-Forwarded-For"], ","), ",")
	if len(h["X-Forwarded-For"]) == 0 {
		hops = forwardedFor(strings.Join(h["Forwarded"], ","))
	}
	for _, text := range slices.Backward(hops) {
		hop, ok := parseHop(text)
		if !ok {
			p.warn.Do(func() {
				p.logger.Warn("a trusted proxy sent a client address that cannot be read, so its clients count as one; let it send X-Forwarded-For with IP addresses", "proxy", client)
			})
			break
		}
		client = hop
		if !p.Contain(client) {
			break
		}
	}
	return client
}

// parseHop reads an address as proxies write it: with or without a port, in quotes, an IPv6
// address in brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		address = withPort.Addr()
	}
	return address.Unmap().WithZone(""), true // a zone is a text of any length
}

// forwardedFor returns the value of the parameter "for" of each element of Forwarded, "" for
// an element without it.
func forwardedFor(header string) (hops []string) {
	for _, element := range splitUnquoted(header, ',') {
		hop := ""
		for _, parameter := range splitUnquoted(element, ';') {
			name, value, _ := strings.Cut(parameter, "=")
			if strings.EqualFold(strings.TrimSpace(name), "for") {
				hop = value
			}
		}
		hops = append(hops, hop)
	}
	return hops
}

// splitUnquoted splits a text at each separator that is not in quotes. In the parameters of
// Forwarded, such as host, quotes hold what a client sent.
func splitUnquoted(text string, separator byte) (parts []string) {
	quoted, begin := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
	}
	return append(parts, text[begin:])
}

package clientnet

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Proxies are the trusted proxies. A nil *Proxies trusts none.
type Proxies struct {
	networks []netip.Prefix
	logger   *slog.Logger
	warn     sync.Once // for an invalid address
}

// NewProxies returns the proxies in the networks, nil if there are none. It logs the first invalid
// client address.
func NewProxies(networks []netip.Prefix, logger *slog.Logger) *Proxies {
	if len(networks) == 0 {
		return nil
	}
	return &Proxies{networks: networks, logger: logger}
}

// Contain reports whether an address is a trusted proxy.
func (p *Proxies) Contain(a netip.Addr) bool {
	return p != nil && slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Remote parses the RemoteAddr of a request.
func Remote(remoteAddr string) netip.Addr {
	address, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return netip.IPv6Unspecified() // for example a Unix socket: all its clients count as one
	}
	return address.Addr().Unmap()
}

// Client returns the client address of a request: the address of the connection, or if that is a
// trusted proxy, the last address in X-Forwarded-For that is not. Addresses before it may be
// forged. Without X-Forwarded-For, Client uses Forwarded (RFC 7239).
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
				p.logger.Warn(
					"trusted proxy sent an invalid client address, so its clients count as one; "+
						"configure it to send IP addresses in X-Forwarded-For",
					"proxy", client)
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

// parseHop parses an address as proxies write it: with or without a port, quotes, or brackets around
// IPv6.
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
	return address.Unmap().WithZone(""), true // a zone may have any length
}

// forwardedFor returns the parameter "for" of each element of Forwarded, "" if it is absent.
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

// splitUnquoted splits a string at each separator outside quotes. Quoted parameters of Forwarded,
// such as host, may contain text from clients.
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

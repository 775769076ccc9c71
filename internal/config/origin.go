package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// anyOrigin allows the web pages of all origins. That is safe: unlike a cookie, a browser
// adds no key to a request by itself, so a web page can do only what its own key allows.
const anyOrigin = "*"

func applyCORSOrigins(s *Settings, value string) error {
	s.CORSOrigins = nil
	for _, field := range listed(value) {
		if field != anyOrigin {
			if err := checkOrigin(field); err != nil {
				return err
			}
		}
		s.CORSOrigins = append(s.CORSOrigins, field)
	}
	if len(s.CORSOrigins) > 1 && slices.Contains(s.CORSOrigins, anyOrigin) {
		return fmt.Errorf("must be %s alone, which allows all origins, or only origins (got %q)", anyOrigin, value)
	}
	return nil
}

// checkOrigin refuses an origin that no browser sends in Origin: it would never match, and
// the operator would not know why.
func checkOrigin(text string) error {
	sent, ok := asBrowsersSend(text)
	switch {
	case !ok:
		return fmt.Errorf("must be origins separated by commas, such as https://app.example.com, or %s for all (got %q)", anyOrigin, text)
	case sent != text:
		return fmt.Errorf("must have origins as browsers send them: write %s (got %q)", sent, text)
	default:
		return nil
	}
}

// asBrowsersSend returns an origin in the form of RFC 6454, section 6.2: without a
// path, and with a port only if it is not the scheme's own.
func asBrowsersSend(text string) (sent string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", false
	}
	ports := map[string]uint64{"http": 80, "https": 443}
	own, known := ports[u.Scheme]
	host, ok := originHost(u.Hostname())
	if !known || !ok {
		return "", false
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", false
		}
		if n != own {
			host += ":" + strconv.FormatUint(n, 10)
		}
	}
	return u.Scheme + "://" + host, true
}

// originHost returns a host as browsers write it. A name is in ASCII: they send
// xn--bcher-kva.example for bücher.example.
func originHost(host string) (sent string, ok bool) {
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() {
		return "[" + address.String() + "]", address.Zone() == ""
	}
	host = strings.ToLower(host)
	other := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_')
	}
	return host, host != "" && !strings.ContainsFunc(host, other)
}

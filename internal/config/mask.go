package config

import (
	"net/url"
	"slices"
	"strings"
)

const masked = "***"

// Shown returns the value without secrets. Every address is masked, because users put
// passwords even into addresses that need none.
func (v Value) Shown() string {
	if v.Secret || strings.Contains(v.text, "://") {
		return mask(v.text)
	}
	return v.text
}

// mask returns an address without its secrets. It masks all of an address that it cannot
// parse.
func mask(address string) string {
	if address == "" || address == sqliteDatabase || address == memoryLimiter || address == databaseLimiter {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return masked
	}
	// A password with an @ that was not escaped ends nobody knows where. One with a /, ? or #
	// ends the host's part too early, and what follows is still the password, up to the @.
	if strings.Count(address, "@") > 1 || strings.Contains(u.Path, "@") || strings.Contains(u.RawQuery, "@") || strings.Contains(u.Fragment, "@") {
		return masked
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != nil {
		// Without a password the name may be one: redis://secret@host.
		if _, hasPassword := u.User.Password(); hasPassword {
			b.WriteString(url.User(u.User.Username()).String() + ":")
		}
		b.WriteString(masked + "@")
	}
	b.WriteString(u.Host + u.EscapedPath())
	if u.RawQuery != "" {
		b.WriteString("?" + maskQuery(u.RawQuery))
	}
	if u.Fragment != "" {
		b.WriteString("#" + masked)
	}
	return b.String()
}

// harmless are the parameters of an address that are shown, because they contain no secret.
var harmless = []string{ //nolint:gochecknoglobals // a table that nobody changes
	"sslmode", "sslrootcert", "connect_timeout", "application_name", "target_session_attrs", "db", "master",
}

func maskQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, hasValue := strings.Cut(part, "=")
		if hasValue && !slices.Contains(harmless, name) {
			parts[i] = name + "=" + masked
		} else if !hasValue {
			parts[i] = masked
		}
	}
	return strings.Join(parts, "&")
}

package main

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
)

// clientEnv is read by clients of the API, so it may well be set where the
// server starts.
const clientEnv = "PETCAT_API_KEY"

// warnUnknown tells of variables that look like settings and are none: a
// misspelt setting would else be ignored in silence. They are not refused,
// because other programs may own them. A getenv cannot be listed, so the
// process's names are tried on it.
func warnUnknown(w io.Writer, environ []string, getenv func(string) (string, bool)) {
	names := slices.DeleteFunc(unknownVariables(environ), func(name string) bool {
		_, ok := getenv(name)
		return !ok
	})
	if len(names) > 0 {
		_, _ = fmt.Fprintf(w, "petcat: warning: no setting is named %s; the settings are listed by: petcat config\n",
			printable(strings.Join(names, ", ")))
	}
}

func unknownVariables(environ []string) []string {
	known := map[string]bool{clientEnv: true}
	for _, s := range settings() {
		known[s.env] = true
		if s.secret {
			known[s.fileEnv()] = true
		}
	}
	var unknown []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PETCAT_") && !known[name] && !fromKubernetes(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// fromKubernetes reports whether Kubernetes may have set a variable. Beside a
// Service named petcat or petcat-something it sets PETCAT_PORT,
// PETCAT_SERVICE_HOST, PETCAT_PORT_8080_TCP_ADDR, PETCAT_SOMETHING_PORT and so
// on, in every container of the namespace. No setting has such a name.
func fromKubernetes(name string) bool {
	return strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_") ||
		strings.Contains(name, "_SERVICE_") || strings.HasPrefix(name, "PETCAT_TCP")
}

const masked = "***"

// shown returns a setting's value as it may be shown. Any address is masked,
// because a password may stand even where none belongs.
func (v effective) shown() string {
	if v.secret || strings.Contains(v.value, "://") {
		return mask(v.value)
	}
	return v.value
}

// mask returns an address without its secrets. What it does not understand it
// masks whole.
func mask(address string) string {
	if address == "" || address == sqliteDatabase || address == memoryLimiter || address == databaseLimiter {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return masked
	}
	// A password with a /, ? or # that was not escaped ends the host's part too
	// early, and what follows is still the password, up to the @.
	if strings.Contains(u.Path, "@") || strings.Contains(u.RawQuery, "@") || strings.Contains(u.Fragment, "@") {
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

// harmless are the parameters of an address that are worth reading and hold no
// secret.
var harmless = []string{
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

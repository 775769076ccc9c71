package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"petcat"
)

// sqliteDatabase is the value of --database beside addresses.
const sqliteDatabase = "sqlite"

// errNot is for settings whose must says all.
var errNot = errors.New("another value")

// database never repeats the value, which may have a password.
func database(value string) (petcat.Secret, error) {
	u, err := url.Parse(value)
	switch {
	case ambiguous(value):
		return petcat.Secret{}, errors.New("has an @, /, ? or # in the user, the password or a parameter; write them as %40, %2F, %3F and %23")
	case value != sqliteDatabase && (err != nil || !strings.Contains(value, "://") || u.Scheme != "postgres" && u.Scheme != "postgresql"):
		return petcat.Secret{}, errors.New("must be sqlite, which is the file in the data directory (--data), or the URL of a PostgreSQL database; this value is no URL that begins with postgres://")
	default:
		return petcat.NewSecret(value), nil
	}
}

// ambiguous reports whether a URL may have parts of a password behind its host: with an @ that
// was not escaped nobody can say where the password ends, and an unescaped /, ? or # ends the
// host too early.
func ambiguous(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	before, _, at := strings.Cut(rest, "@")
	return strings.Count(rest, "@") > 1 || at && strings.ContainsAny(before, "/?#")
}

// address checks host:port. The port is a number, because the names of ports differ between
// machines; 0 lets the system choose one.
func address(value string) (string, error) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return value, err
}

func atLeastOne(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if n < 1 {
		err = errNot
	}
	return n, err
}

var weeksAndDays = regexp.MustCompile(`^(?:([0-9]{1,6})w)?(?:([0-9]{1,6})d)?`)

// ParseDuration reads a duration: weeks, days (24 hours) and then the form of
// [time.ParseDuration], as in 90d, 2w, 1d12h or 30s. A negative duration is an error.
func ParseDuration(value string) (time.Duration, error) {
	hours := value
	if found := weeksAndDays.FindStringSubmatch(value); found[0] != "" {
		weeks, _ := strconv.Atoi("0" + found[1])
		days, _ := strconv.Atoi("0" + found[2])
		hours = fmt.Sprintf("%dh%s", 24*(7*weeks+days), value[len(found[0]):])
	}
	d, err := time.ParseDuration(hours)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("must be a duration such as 30s, 24h or 90d (got %q)", value)
	}
	return d, nil
}

// ParseLogLevel reads a level of the log.
func ParseLogLevel(value string) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(value)); err != nil {
		return 0, fmt.Errorf("must be debug, info, warn or error (got %q)", value)
	}
	return level, nil
}

// nodeName checks a name that stands in the lines of logs and in metrics.
func nodeName(value string) (string, error) {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	if value == "" || len(value) > 63 || strings.Trim(value, allowed) != "" {
		return "", errors.New("not a name")
	}
	return value, nil
}

// listed returns the parts of a list.
func listed(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

func networks(value string) (all []netip.Prefix, err error) {
	for _, field := range listed(value) {
		network, err := netip.ParsePrefix(field)
		if address, addressErr := netip.ParseAddr(field); addressErr == nil {
			network, err = address.Unmap().Prefix(address.Unmap().BitLen())
		}
		if err != nil {
			return nil, err
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

var publicForm = regexp.MustCompile(`^https?://[^/?#@\s]+(/[^?#@\s]*)?$`)

func publicURL(value string) (string, error) {
	value = strings.TrimRight(value, "/")
	if _, err := url.Parse(value); err != nil || !publicForm.MatchString(value) || strings.HasSuffix(value, "/v1") {
		return "", errNot
	}
	return value, nil
}

// consoleURL allows http only on this machine, because a sign-in sends a secret.
func consoleURL(value string) (string, error) {
	sent, err := origin(value)
	address, plain := strings.CutPrefix(sent, "http://")
	if plain && !isLoopback(address) && !isLoopback(address+":80") {
		return "", errNot
	}
	return sent, err
}

// anyOrigin allows the web pages of all origins. That is safe: unlike a cookie, a browser
// adds no key to a request by itself, so a web page can do only what its own key allows.
const anyOrigin = "*"

func origins(value string) (all []string, err error) {
	for _, field := range listed(value) {
		if field == anyOrigin {
			return []string{anyOrigin}, nil
		}
		sent, err := origin(field)
		if err != nil {
			return nil, err
		}
		all = append(all, sent)
	}
	return all, nil
}

var originForm = regexp.MustCompile(`^(https?)://([a-z0-9._-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?/*$`)

// origin returns an origin as browsers send it (RFC 6454, section 6.2): in lower case, without
// a path, and with a port only if it is not the scheme's own. They send xn--bcher-kva.example
// for bücher.example.
func origin(value string) (string, error) {
	found := originForm.FindStringSubmatch(strings.ToLower(value))
	if found == nil {
		return "", errNot
	}
	scheme, host, port := found[1], found[2], found[3]
	if scheme+port == "http:80" || scheme+port == "https:443" {
		port = ""
	}
	return scheme + "://" + host + port, nil
}

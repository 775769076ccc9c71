// Package config reads petcat's settings: from a command's flags, then from the environment,
// then from the defaults. One table describes all settings. Load reports all mistakes at once.
// Secrets may come from files, and are masked in output.
//
// The package reads only its arguments and secret files. It does not open databases or sockets,
// or check whether a directory or server exists. The caller decides which command has which flags.
package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
)

//go:generate go test . -run=TestDocument -update

// Settings are the validated settings of a node.
type Settings struct {
	// Values are all settings as they were given, in the order of [Table]. With PostgreSQL, the
	// libpq variables follow.
	Values []Value
	// Data is the data directory.
	Data string
	// Database stores accounts, keys and categories: "sqlite" for the file in Data, or the URL
	// of a PostgreSQL database, which may contain a password.
	Database petcat.Secret
	// Init allows a server to create a new deployment if there is none.
	Init bool
	// Listen and AdminListen are host:port. An empty host means all addresses.
	Listen, AdminListen string
	// AdminAllowPlaintext allows the admin listener to serve other machines without TLS.
	AdminAllowPlaintext bool
	Environment         petcat.Environment
	// PublicURL is the origin that clients use; "" for the listener's address.
	PublicURL string
	// ConsoleURL is the console's origin in browsers; "" for the admin listener's address.
	ConsoleURL string
	// NodeName is the preferred label of the node; "" for the host name. See Label.
	NodeName string
	// TLSCert and TLSKey are PEM files, both given or neither.
	TLSCert, TLSKey string
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose web pages may use the API, in the form that browsers
	// send; or only "*".
	CORSOrigins []string
	// CustomerPages enables the customer's page on the API's listener.
	CustomerPages bool
	Bans          petcat.BanMode
	// MaxStaleness is the maximum age of a list while the database is unavailable; 0 forbids stale lists.
	MaxStaleness time.Duration
	// MaxCategoriesSize is the most bytes that all categories may take.
	MaxCategoriesSize int64
	// UsageDetail makes the node also count usage by key and operation.
	UsageDetail bool
	// WebhookAllow are the networks of event receivers that are not on the Internet.
	WebhookAllow []netip.Prefix
	// ShutdownTimeout is the time for requests in flight to finish.
	ShutdownTimeout time.Duration
	// BackupEvery is the interval between scheduled backups; 0 disables them.
	BackupEvery time.Duration
	// BackupKeep is the number of scheduled backups to keep.
	BackupKeep int
	// BackupDir is the directory for scheduled backups.
	BackupDir string
	// BackupCommand is a program to run with the path of each scheduled backup; "" for none.
	BackupCommand string

	LogLevel slog.Level
	// LogFormat is "text", "json", or "" for text on a terminal and JSON elsewhere.
	LogFormat string
}

// UsesSQLite reports whether the data is the file in the data directory.
func (s Settings) UsesSQLite() bool {
	return s.Database.IsZero() || s.Database.Reveal() == sqliteDatabase
}

// Label returns the preferred label of the node.
func (s Settings) Label() string {
	host, _ := os.Hostname()
	if !nodeForm.MatchString(host) {
		host = "node"
	}
	return cmp.Or(s.NodeName, host)
}

// TLS reports whether the listeners speak TLS.
func (s Settings) TLS() bool { return s.TLSCert != "" }

// AdminIsLocal reports whether only this machine can reach the admin listener.
func (s Settings) AdminIsLocal() bool { return isLoopback(s.AdminListen) }

// AdminTLS reports whether the admin listener speaks TLS. On loopback it does not, because TLS
// there would only make scraping harder.
func (s Settings) AdminTLS() bool { return s.TLS() && !s.AdminIsLocal() }

// AdminURL returns the URL of the admin listener on this machine. It returns a
// [petcat.UnusableError] if the port is 0.
func (s Settings) AdminURL() (string, error) {
	if _, port, err := net.SplitHostPort(s.AdminListen); err != nil || port == "0" {
		return "", petcat.Unusablef(nil, "--admin-listen (PETCAT_ADMIN_LISTEN) leaves the port to the system (%s); "+
			"set the actual port, such as --admin-listen 127.0.0.1:8081", s.AdminListen)
	}
	return LocalURL(s.AdminListen, s.AdminTLS()), nil
}

// LocalURL returns the URL of a listener on this machine.
func LocalURL(address string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(address)
	// Clients cannot connect to the unspecified address.
	if ip, _ := netip.ParseAddr(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// isLoopback reports whether an address is on loopback. localhost is the only name that counts: the
// address of another name may change.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, _ := netip.ParseAddr(host) // on an error zero, which is not loopback
	return err == nil && (strings.EqualFold(host, "localhost") || ip.Unmap().IsLoopback())
}

// contradictions returns the mistakes that involve several settings. An invalid setting is empty
// here, so mistakes are reported once.
func (s Settings) contradictions() (mistakes []string) {
	if (s.TLSCert == "") != (s.TLSKey == "") {
		mistakes = append(mistakes,
			"--tls-cert (PETCAT_TLS_CERT) and --tls-key (PETCAT_TLS_KEY) must be given together")
	}
	if !s.TLS() && !s.AdminAllowPlaintext && s.AdminListen != "" && !s.AdminIsLocal() {
		mistakes = append(mistakes, fmt.Sprintf(
			"--admin-listen (PETCAT_ADMIN_LISTEN) is reachable from other machines (%s); "+
				"use a loopback address or TLS, "+
				"or allow it with --admin-allow-plaintext (PETCAT_ADMIN_ALLOW_PLAINTEXT)",
			s.AdminListen))
	}
	if s.Listen != "" && s.Listen == s.AdminListen && !strings.HasSuffix(s.Listen, ":0") {
		mistakes = append(mistakes, fmt.Sprintf(
			"--listen (PETCAT_LISTEN) and --admin-listen (PETCAT_ADMIN_LISTEN) must differ (both are %s)",
			s.Listen))
	}
	return mistakes
}

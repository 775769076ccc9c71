// Package config reads the settings of petcat: from a command's flags, then from the
// environment, then from their defaults. One table describes all of them. It reports all
// mistakes at once. Secrets may come from files, and are masked when they are shown.
//
// It reads only its arguments and the files of secrets. It opens no database and no
// socket, and does not check whether a directory or server that a setting names exists.
// It knows no command: the caller decides which command has which flags. A file of a
// secret that cannot be read is a mistake like any other.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"petcat"
)

//go:generate go test . -run=TestDocument -update

// Error says that a setting, or a file or server that it names, cannot be used: the same
// command would fail again. Its text is one sentence that names the setting and says what
// to do.
type Error struct {
	text  string
	cause error
}

// Errorf makes an [Error] like [fmt.Errorf]; format may contain %w.
func Errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{text: err.Error(), cause: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.cause }

// Settings are the settings of a node, checked and typed.
type Settings struct {
	// Values are all settings as they were given, in the order of [Table], and the variables
	// of libpq if they complete the URL of the database.
	Values []Value
	// Data is the data directory.
	Data string
	// Database is where accounts, keys and categories are kept: "sqlite" for the file in
	// Data, or the URL of a PostgreSQL database, which may have a password.
	Database petcat.Secret
	// Init lets a server create a new deployment where there is none.
	Init bool
	// Listen and AdminListen are host:port; an empty host is every address.
	Listen, AdminListen string
	// AdminAllowPlaintext lets the admin listener serve other machines without TLS.
	AdminAllowPlaintext bool
	Environment         petcat.Environment
	// EnvironmentGiven is false if Environment is only the default. Then management
	// commands accept data of any environment.
	EnvironmentGiven bool
	// PublicURL is the address that clients use, without the /v1 and without a slash at
	// the end; "" for that of the listener.
	PublicURL string
	// ConsoleURL is where browsers find the console, as an origin; "" for the admin
	// listener's address.
	ConsoleURL string
	// NodeName is what people call the node; "" for the host's name. See Label.
	NodeName string
	// TLSCert and TLSKey are PEM files, both given or neither.
	TLSCert, TLSKey string
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose web pages may use the API, in the form in which
	// browsers send them; or * alone.
	CORSOrigins []string
	Bans        petcat.BanMode
	// MaxStaleness is how old a list may be while the database is unavailable; 0
	// forbids it.
	MaxStaleness time.Duration
	// ShutdownTimeout is how long requests in flight may take to finish.
	ShutdownTimeout time.Duration
	// BackupEvery is the time from one scheduled backup to the next; 0 makes none.
	BackupEvery time.Duration
	// BackupKeep is how many of them are kept.
	BackupKeep int
	// BackupDir is the directory of scheduled backups; "" for one in Data. See
	// BackupFolder.
	BackupDir string
	// BackupCommand is a program that gets the path of each scheduled backup; "" for none.
	BackupCommand string

	LogLevel slog.Level
	// LogFormat is "text", "json", or "" for text on a terminal and JSON elsewhere.
	LogFormat string
}

// UsesSQLite reports whether the data is the file in the data directory.
func (s Settings) UsesSQLite() bool {
	return s.Database.IsZero() || s.Database.Reveal() == sqliteDatabase
}

// BackupFolder returns the folder of the scheduled backups.
func (s Settings) BackupFolder() string {
	if s.BackupDir != "" {
		return s.BackupDir
	}
	return filepath.Join(s.Data, "backups")
}

// Label returns what people call the node, unless another one is called so.
func (s Settings) Label() string {
	if s.NodeName != "" {
		return s.NodeName
	}
	host, err := os.Hostname()
	if err == nil {
		host, err = nodeName(host)
	}
	if err != nil {
		return "node"
	}
	return host
}

// TLS reports whether the listeners speak TLS.
func (s Settings) TLS() bool { return s.TLSCert != "" }

// AdminIsLocal reports whether only this machine can reach the admin listener.
func (s Settings) AdminIsLocal() bool { return isLoopback(s.AdminListen) }

// AdminTLS reports whether the admin listener speaks TLS. It does so only if other machines
// can reach it: on the loopback, TLS would only make the collection of metrics harder.
func (s Settings) AdminTLS() bool { return s.TLS() && !s.AdminIsLocal() }

// AdminURL returns where this machine reaches the admin listener. It returns an [Error] if
// the setting leaves the port to the system.
func (s Settings) AdminURL() (string, error) {
	if _, port, err := net.SplitHostPort(s.AdminListen); err != nil || port == "0" {
		return "", Errorf("--admin-listen (PETCAT_ADMIN_LISTEN) leaves the port to the system (%s); give the actual port: --admin-listen 127.0.0.1:8081", s.AdminListen)
	}
	return LocalURL(s.AdminListen, s.AdminTLS()), nil
}

// LocalURL returns where this machine reaches a listener on an address.
func LocalURL(address string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return scheme + "://" + address
	}
	// The unspecified address, which means all addresses, cannot be called.
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// isLoopback reports whether only this machine can reach an address. A name other than
// localhost does not count, because its address may change.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, _ := netip.ParseAddr(host) // the zero address is no loopback
	return err == nil && (strings.EqualFold(host, "localhost") || ip.Unmap().IsLoopback())
}

// contradictions returns the mistakes that show only in several settings together. A
// setting that was already refused is empty here, so it is not reported twice.
func (s Settings) contradictions() (mistakes []string) {
	if (s.TLSCert == "") != (s.TLSKey == "") {
		mistakes = append(mistakes, "--tls-cert (PETCAT_TLS_CERT) and --tls-key (PETCAT_TLS_KEY) must be given together")
	}
	if !s.TLS() && !s.AdminAllowPlaintext && s.AdminListen != "" && !s.AdminIsLocal() {
		mistakes = append(mistakes, fmt.Sprintf("--admin-listen (PETCAT_ADMIN_LISTEN) is reachable from other machines (%s); "+
			"use a loopback address or TLS, or allow it with --admin-allow-plaintext (PETCAT_ADMIN_ALLOW_PLAINTEXT)", s.AdminListen))
	}
	if s.Listen != "" && s.Listen == s.AdminListen && !strings.HasSuffix(s.Listen, ":0") {
		mistakes = append(mistakes, fmt.Sprintf("--listen (PETCAT_LISTEN) and --admin-listen (PETCAT_ADMIN_LISTEN) must differ (both are %s)", s.Listen))
	}
	return mistakes
}

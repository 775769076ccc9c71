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
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"petcat"
)

//go:generate go test . -run=TestDocument -update

// Error says that a setting, or a file or server that it names, cannot be used: the same
// command would fail again. Its text is one sentence that names the setting and says what
// to do.
type Error struct{ error }

// Errorf makes an [Error] like [fmt.Errorf]; format may contain %w.
func Errorf(format string, args ...any) *Error { return &Error{fmt.Errorf(format, args...)} }

// Unwrap returns what the error wraps.
func (e *Error) Unwrap() error { return errors.Unwrap(e.error) }

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
	// CustomerPages has the API's listener serve the customer's page.
	CustomerPages bool
	Bans          petcat.BanMode
	// MaxStaleness is how old a list may be while the database is unavailable; 0
	// forbids it.
	MaxStaleness time.Duration
	// ShutdownTimeout is how long requests in flight may take to finish.
	ShutdownTimeout time.Duration
	// BackupEvery is the time from one scheduled backup to the next; 0 makes none.
	BackupEvery time.Duration
	// BackupKeep is how many of them are kept.
	BackupKeep int
	// BackupDir is the directory of scheduled backups.
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

// Label returns what people call the node, unless another one is called so.
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
	host, port, _ := net.SplitHostPort(address)
	// The unspecified address, which means all addresses, cannot be called.
	if ip, _ := netip.ParseAddr(host); host == "" || ip.IsUnspecified() {
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

// Setting is one line of the table of settings.
type Setting struct {
	Flag    string // without the dashes
	Env     string // the environment variable
	Default string
	// WhenEmpty describes the meaning of an empty value. A setting with a default cannot
	// be empty.
	WhenEmpty string
	// Usage is for --help; the `quoted` word names the value. More follows it in
	// docs/settings.md.
	Usage, More string
	// Secret values are masked when they are shown, and may come from a file that is
	// named by Env with _FILE at the end.
	Secret bool
	// Choices are all values, in lower case; nil for any.
	Choices []string
	// set checks a value that is not empty, and stores it. must continues the sentence
	// "must be" of its error; without it and without Choices, the error is such a sentence
	// itself.
	set  func(value string) error
	must string
}

// trueOrFalse is the must of settings whose flags need no value.
const trueOrFalse = "true or false"

// into returns a function that stores what parse returns.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		*to, err = parse(value)
		return err
	}
}

// asGiven returns the value.
func asGiven[T ~string](value string) (T, error) { return T(value), nil }

// row completes a line of the table.
func row(s Setting, usage, more string) Setting {
	s.Env, s.Usage, s.More = "PETCAT_"+strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_")), usage, more
	if last := len(s.Choices) - 1; last > 0 {
		s.must = strings.Join(s.Choices[:last], ", ") + " or " + s.Choices[last]
	}
	return s
}

// Table returns every setting, in the order of the documentation.
func Table() []Setting { return table(&Settings{}) }

// table returns the settings, which store their values in s.
func table(s *Settings) []Setting {
	const aListener = "an address such as :8080, 127.0.0.1:8080 or [::1]:8080"
	return []Setting{
		row(Setting{Flag: "data", Default: "./data", set: into(&s.Data, asGiven[string])},
			"`directory` of the data", "It is created with mode 0700, its files with 0600. Files that root creates there belong to the directory's owner."),
		row(Setting{Flag: "database", Default: sqliteDatabase, Secret: true, set: into(&s.Database, database)},
			"`place` of accounts, keys and categories: sqlite, which is the file in the data directory, or postgres://…", "Several nodes can share a PostgreSQL database."),
		row(Setting{Flag: "init", Default: "true", set: into(&s.Init, strconv.ParseBool), must: trueOrFalse},
			"create a new deployment if there is none; with false, petcat init has to", "Set `false` once there is data: then a disk that is not mounted, or a wrong name, makes no empty deployment."),
		row(Setting{Flag: "listen", Default: ":8080", set: into(&s.Listen, address), must: aListener},
			"`address` of the API", "It also serves the OpenAPI document and the reference page."),
		row(Setting{Flag: "admin-listen", Default: "127.0.0.1:8081", set: into(&s.AdminListen, address), must: aListener},
			"`address` of the console, metrics and health", ""),
		row(Setting{Flag: "admin-allow-plaintext", Default: "false", set: into(&s.AdminAllowPlaintext, strconv.ParseBool), must: trueOrFalse},
			"allow an admin address that other machines can reach without TLS", ""),
		row(Setting{Flag: "console-url", WhenEmpty: "from the admin listener", set: into(&s.ConsoleURL, consoleURL), must: "an https URL without a path, such as https://console.example.com, or an http URL of a loopback address"},
			"`URL` of the console in browsers, if it is behind a proxy", "It has no path."),
		row(Setting{Flag: "environment", Default: string(petcat.Production), set: into(&s.Environment, asGiven[petcat.Environment]), Choices: []string{string(petcat.Production), string(petcat.Staging)}},
			"`environment` of the data: production or staging", "Data and keys belong to one environment."),
		row(Setting{Flag: "node-name", WhenEmpty: "the host's name", set: into(&s.NodeName, nodeName), must: "1 to 63 letters, digits, dots, dashes or underscores"},
			"`name` of this node for people: in the log, the metrics and petcat node list", "A second running node of that name gets `-2`."),
		row(Setting{Flag: "public-url", WhenEmpty: "from the listener", set: into(&s.PublicURL, publicURL), must: "an http or https URL without user, query, fragment and /v1 at the end, such as https://api.example.com"},
			"`URL` that clients use, without /v1", "It goes into the OpenAPI document."),
		row(Setting{Flag: "tls-cert", WhenEmpty: "off", set: into(&s.TLSCert, asGiven[string])},
			"PEM `file` of the certificate chain; reread when it changes", ""),
		row(Setting{Flag: "tls-key", WhenEmpty: "off", set: into(&s.TLSKey, asGiven[string])},
			"PEM `file` of the certificate's key; reread when it changes", ""),
		row(Setting{Flag: "trusted-proxies", WhenEmpty: "none", set: into(&s.TrustedProxies, listOf(network)), must: "networks or addresses separated by commas, such as 10.0.0.0/8,::1"},
			"`networks` whose X-Forwarded-For is believed, such as 10.0.0.0/8,::1", "Their `X-Request-Id` is, too."),
		row(Setting{Flag: "cors-origins", WhenEmpty: "none", set: into(&s.CORSOrigins, listOf(corsOrigin)), must: "origins separated by commas, such as https://app.example.com, or * alone, which allows all"},
			"`origins` whose web pages may use the API, such as https://app.example.com,http://localhost:3000; * for all", ""),
		row(Setting{Flag: "customer-pages", Default: "false", set: into(&s.CustomerPages, strconv.ParseBool), must: trueOrFalse},
			"serve the customer's page, /account, on the API's listener", "Without TLS here or an https --public-url, only on localhost. On in `petcat dev`."),
		row(Setting{Flag: "bans", Default: string(petcat.EnforceBans), set: into(&s.Bans, asGiven[petcat.BanMode]), Choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)}},
			"`mode` of bans: enforce, shadow (count and report only) or off", ""),
		row(Setting{Flag: "max-staleness", Default: "30s", set: into(&s.MaxStaleness, ParseDuration)},
			"`age` that a list may have while the database is unavailable; 0 forbids it", "With SQLite, lists are never stale."),
		row(Setting{Flag: "shutdown-timeout", Default: "20s", set: into(&s.ShutdownTimeout, ParseDuration)},
			"`time` that requests in flight get to finish", ""),
		row(Setting{Flag: "backup-every", WhenEmpty: "off", set: into(&s.BackupEvery, ParseDuration)},
			"`time` from one scheduled backup to the next, such as 24h; 0 makes none", ""),
		row(Setting{Flag: "backup-keep", Default: "7", set: into(&s.BackupKeep, atLeastOne), must: "a number from 1"},
			"`number` of scheduled backups that are kept", ""),
		row(Setting{Flag: "backup-dir", WhenEmpty: "backups in the data directory", set: into(&s.BackupDir, asGiven[string])},
			"`directory` of the scheduled backups", "It is created with mode 0700, the files with 0600."),
		row(Setting{Flag: "backup-command", WhenEmpty: "none", set: into(&s.BackupCommand, asGiven[string])},
			"`program` that gets the path of each scheduled backup, to copy it to another machine", "While it fails, no backup counts, and none is removed."),
		row(Setting{Flag: "log-level", Default: "info", set: into(&s.LogLevel, ParseLogLevel), Choices: []string{"debug", "info", "warn", "error"}},
			"least `level` that is logged: debug, info, warn or error", "The access log is `info`. `petcat log-level` sets another level for a time."),
		row(Setting{Flag: "log-format", WhenEmpty: "text on a terminal, else json", set: into(&s.LogFormat, asGiven[string]), Choices: []string{"text", "json"}},
			"`form` of the log: text or json", ""),
	}
}

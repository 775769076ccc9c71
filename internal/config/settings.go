// Package config reads petcat's settings: from a command's flags, then from the environment,
// then from the defaults. One table describes all settings. Load reports all mistakes at once.
// Secrets may come from files, and are masked in output.
//
// The package reads only its arguments and the files of secrets. It opens no database or
// socket, and does not check whether a directory or server exists. The caller decides which
// command has which flags.
package config

import (
	"cmp"
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
	// MaxStaleness is the maximum age of a list while the database is unavailable; 0 allows
	// no stale list.
	MaxStaleness time.Duration
	// ShutdownTimeout is the time for requests in flight to finish.
	ShutdownTimeout time.Duration
	// BackupEvery is the interval between scheduled backups; 0 disables them.
	BackupEvery time.Duration
	// BackupKeep is the number of scheduled backups to keep.
	BackupKeep int
	// BackupDir is the directory of scheduled backups.
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
		return "", petcat.Unusablef(nil, "--admin-listen (PETCAT_ADMIN_LISTEN) leaves the port to the system (%s); set the actual port, such as --admin-listen 127.0.0.1:8081", s.AdminListen)
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

// isLoopback reports whether an address is on loopback. Of names, only localhost counts: the
// address of another name may change.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, _ := netip.ParseAddr(host) // on an error zero, which is not loopback
	return err == nil && (strings.EqualFold(host, "localhost") || ip.Unmap().IsLoopback())
}

// contradictions returns the mistakes that involve several settings. An invalid setting is empty
// here, so no mistake is reported twice.
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

// Setting is one row of the table of settings.
type Setting struct {
	Flag    string // without the dashes
	Env     string // the environment variable
	Default string
	// WhenEmpty describes the meaning of an empty value. Only a setting without a default can
	// be empty.
	WhenEmpty string
	// Usage is the text for --help; the `quoted` word names the value. docs/settings.md adds
	// More.
	Usage, More string
	// Secret values are masked in output. They may also come from a file, which the variable Env
	// with the suffix _FILE names.
	Secret bool
	// Choices are the accepted values, in lower case; nil for any.
	Choices []string
	// set parses and stores a value that is not empty. must continues "must be" in the error
	// message. If must is empty, the error itself is such a phrase.
	set  func(value string) error
	must string
}

// trueOrFalse is the must of boolean settings. Their flags need no value.
const trueOrFalse = "true or false"

// into returns a function that parses a value and stores the result.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		*to, err = parse(value)
		return err
	}
}

// anyString accepts any value.
func anyString[T ~string](value string) (T, error) { return T(value), nil }

// row completes a row of the table.
func row(s Setting, usage, more string) Setting {
	s.Env, s.Usage, s.More = "PETCAT_"+strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_")), usage, more
	if last := len(s.Choices) - 1; last > 0 {
		s.must = strings.Join(s.Choices[:last], ", ") + " or " + s.Choices[last]
	}
	return s
}

// Table returns every setting, in the order of the documentation.
func Table() []Setting { return table(&Settings{}) }

// table returns the settings. They store their values in s.
func table(s *Settings) []Setting {
	const aListener = "an address such as :8080, 127.0.0.1:8080 or [::1]:8080"
	return []Setting{
		row(Setting{Flag: "data", Default: "./data", set: into(&s.Data, anyString[string])},
			"store the data in this `directory`", "It is created with mode 0700, its files with 0600. Files that root creates there belong to the directory's owner."),
		row(Setting{Flag: "database", Default: sqliteDatabase, Secret: true, set: into(&s.Database, database)},
			"store accounts, keys and categories in this `database`: sqlite (a file in the data directory) or postgres://…", "Several nodes can share a PostgreSQL database."),
		row(Setting{Flag: "init", Default: "true", set: into(&s.Init, strconv.ParseBool), must: trueOrFalse},
			"create a new deployment if there is none; if false, only petcat init does", "Set `false` once there is data. Then a missing mount or a wrong path cannot cause an empty deployment."),
		row(Setting{Flag: "listen", Default: ":8080", set: into(&s.Listen, address), must: aListener},
			"serve the API on this `address`", "This listener also serves the OpenAPI document and the reference page."),
		row(Setting{Flag: "admin-listen", Default: "127.0.0.1:8081", set: into(&s.AdminListen, address), must: aListener},
			"serve the console, the management API, metrics and health on this `address`", ""),
		row(Setting{Flag: "admin-allow-plaintext", Default: "false", set: into(&s.AdminAllowPlaintext, strconv.ParseBool), must: trueOrFalse},
			"allow an admin address that other machines can reach without TLS", ""),
		row(Setting{Flag: "console-url", WhenEmpty: "from the admin listener", set: into(&s.ConsoleURL, consoleURL), must: "an https URL without a path, such as https://console.example.com, or an http URL of a loopback address"},
			"use this `URL` for the console in browsers, if it is behind a proxy", "It has no path."),
		row(Setting{Flag: "environment", Default: string(petcat.Production), set: into(&s.Environment, anyString[petcat.Environment]), Choices: []string{string(petcat.Production), string(petcat.Staging)}},
			"serve this `environment`: production or staging", "Data and keys belong to one environment."),
		row(Setting{Flag: "node-name", WhenEmpty: "the host's name", set: into(&s.NodeName, nodeName), must: "1 to 63 letters, digits, dots, dashes or underscores"},
			"label this node with this `name` in logs, metrics and petcat node list", "A second running node with the same name gets the suffix `-2`."),
		row(Setting{Flag: "public-url", WhenEmpty: "from the listener", set: into(&s.PublicURL, origin), must: "an http or https URL without /v1 or another path, such as https://api.example.com"},
			"tell clients to use this `URL`, without /v1 or another path", "The OpenAPI document and links contain it."),
		row(Setting{Flag: "tls-cert", WhenEmpty: "off", set: into(&s.TLSCert, anyString[string])},
			"serve the certificate chain in this PEM `file`; reloaded when it changes", ""),
		row(Setting{Flag: "tls-key", WhenEmpty: "off", set: into(&s.TLSKey, anyString[string])},
			"use the private key in this PEM `file`; reloaded when it changes", ""),
		row(Setting{Flag: "trusted-proxies", WhenEmpty: "none", set: into(&s.TrustedProxies, listOf(network)), must: "networks or addresses separated by commas, such as 10.0.0.0/8,::1"},
			"trust X-Forwarded-For from these `networks`, such as 10.0.0.0/8,::1", "Their `X-Request-Id` is also trusted."),
		row(Setting{Flag: "cors-origins", WhenEmpty: "none", set: into(&s.CORSOrigins, listOf(corsOrigin)), must: "origins separated by commas, such as https://app.example.com, or * alone, which allows all"},
			"allow web pages of these `origins` to use the API, such as https://app.example.com,http://localhost:3000; * allows all", ""),
		row(Setting{Flag: "customer-pages", Default: "false", set: into(&s.CustomerPages, strconv.ParseBool), must: trueOrFalse},
			"serve the customer's page, /account, on the API's listener", "Without TLS or an https --public-url, it is served only on localhost. `petcat dev` enables it."),
		row(Setting{Flag: "bans", Default: string(petcat.EnforceBans), set: into(&s.Bans, anyString[petcat.BanMode]), Choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)}},
			"set the ban `mode`: enforce, shadow (only count and report) or off", ""),
		row(Setting{Flag: "max-staleness", Default: "30s", set: into(&s.MaxStaleness, ParseDuration)},
			"serve lists up to this `age` while the database is unavailable; 0 serves none", "With SQLite, lists are never stale."),
		row(Setting{Flag: "shutdown-timeout", Default: "20s", set: into(&s.ShutdownTimeout, ParseDuration)},
			"give requests in flight this `time` to finish", ""),
		row(Setting{Flag: "backup-every", WhenEmpty: "off", set: into(&s.BackupEvery, ParseDuration)},
			"make a backup at this `interval`, such as 24h; 0 makes none", ""),
		row(Setting{Flag: "backup-keep", Default: "7", set: into(&s.BackupKeep, atLeastOne), must: "a number from 1"},
			"keep this `number` of scheduled backups", ""),
		row(Setting{Flag: "backup-dir", WhenEmpty: "backups in the data directory", set: into(&s.BackupDir, anyString[string])},
			"write scheduled backups to this `directory`", "It is created with mode 0700, the files with 0600."),
		row(Setting{Flag: "backup-command", WhenEmpty: "none", set: into(&s.BackupCommand, anyString[string])},
			"run this `program` with the path of each scheduled backup, to copy it to another machine", "If it fails, the backup does not count, and no older backup is removed."),
		row(Setting{Flag: "log-level", Default: "info", set: into(&s.LogLevel, ParseLogLevel), Choices: []string{"debug", "info", "warn", "error"}},
			"log this `level` and above: debug, info, warn or error", "Lines of the access log are `info`. `petcat log-level` sets another level for a limited time."),
		row(Setting{Flag: "log-format", WhenEmpty: "text on a terminal, else json", set: into(&s.LogFormat, anyString[string]), Choices: []string{"text", "json"}},
			"write the log in this `format`: text or json", ""),
	}
}

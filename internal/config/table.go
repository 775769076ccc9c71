package config

import (
	"strconv"
	"strings"

	"petcat"
)

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
	// Choices are the values that shells complete.
	Choices []string
	// set checks a value that is not empty, and stores it. must continues the sentence
	// "must be" of its error; without it, the error is such a sentence itself.
	set  func(value string) error
	must string
}

// IsBool reports whether the setting is true or false.
func (s Setting) IsBool() bool { return s.must == trueOrFalse }

const trueOrFalse = "true or false"

// into returns a function that stores what parse returns.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		*to, err = parse(value)
		return err
	}
}

// asGiven returns the value.
func asGiven(value string) (string, error) { return value, nil }

// negated returns the opposite of true or false.
func negated(value string) (bool, error) {
	given, err := strconv.ParseBool(value)
	return !given, err
}

// Table returns every setting, in the order of the documentation.
func Table() []Setting { return table(&Settings{}) }

// table returns the settings, which store their values in s.
func table(s *Settings) []Setting {
	const aListener, kilo = "an address such as :8080, 127.0.0.1:8080 or [::1]:8080", 1000
	all := []Setting{
		{Flag: "data", Default: "./data", set: into(&s.Data, asGiven), Usage: "`directory` of the data",
			More: "It is created with mode 0700, its files with 0600. Files that root creates there belong to the directory's owner."},
		{Flag: "database", Default: sqliteDatabase, Secret: true, set: into(&s.Database, database),
			Usage: "`place` of accounts, keys and categories: sqlite, which is the file in the data directory, or postgres://…",
			More:  "Several nodes can share a PostgreSQL database."},
		{Flag: "init", Default: "true", set: into(&s.MustExist, negated), must: trueOrFalse,
			Usage: "create a new deployment if there is none; with false, petcat init has to",
			More:  "Set `false` once there is data: then a disk that is not mounted, or a wrong name, makes no empty deployment."},
		{Flag: "listen", Default: ":8080", set: into(&s.Listen, address), must: aListener,
			Usage: "`address` of the API", More: "It also serves the OpenAPI document and the reference page."},
		{Flag: "admin-listen", Default: "127.0.0.1:8081", set: into(&s.AdminListen, address), must: aListener,
			Usage: "`address` of the console, metrics and health"},
		{Flag: "admin-allow-plaintext", Default: "false", set: into(&s.AdminAllowPlaintext, strconv.ParseBool), must: trueOrFalse,
			Usage: "allow an admin address that other machines can reach without TLS"},
		{Flag: "console-url", WhenEmpty: "from the admin listener", set: into(&s.ConsoleURL, consoleURL),
			must:  "an https URL without a path, such as https://console.example.com, or an http URL of a loopback address",
			Usage: "`URL` of the console in browsers, if it is behind a proxy", More: "It has no path."},
		{Flag: "environment", Default: string(petcat.Production), set: into(&s.Environment, petcat.ParseEnvironment), must: "production or staging",
			Choices: []string{string(petcat.Production), string(petcat.Staging)},
			Usage:   "`environment` of the data: production or staging", More: "Data and keys belong to one environment."},
		{Flag: "public-url", WhenEmpty: "from the listener", set: into(&s.PublicURL, publicURL),
			must:  "an http or https URL without user, query, fragment and /v1 at the end, such as https://api.example.com",
			Usage: "`URL` that clients use, without /v1", More: "It goes into the OpenAPI document."},
		{Flag: "tls-cert", WhenEmpty: "off", set: into(&s.TLSCert, asGiven), Usage: "PEM `file` of the certificate chain; reread when it changes"},
		{Flag: "tls-key", WhenEmpty: "off", set: into(&s.TLSKey, asGiven), Usage: "PEM `file` of the certificate's key; reread when it changes"},
		{Flag: "trusted-proxies", WhenEmpty: "none", set: into(&s.TrustedProxies, networks),
			must:  "networks or addresses separated by commas, such as 10.0.0.0/8,::1",
			Usage: "`networks` whose X-Forwarded-For is believed, such as 10.0.0.0/8,::1", More: "Their `X-Request-Id` is, too."},
		{Flag: "cors-origins", WhenEmpty: "none", set: into(&s.CORSOrigins, origins),
			must:  "origins separated by commas, such as https://app.example.com, or * alone, which allows all",
			Usage: "`origins` whose web pages may use the API, such as https://app.example.com,http://localhost:3000; * for all"},
		{Flag: "bans", Default: string(petcat.EnforceBans), set: into(&s.Bans, petcat.ParseBanMode), must: "enforce, shadow or off",
			Choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)},
			Usage:   "`mode` of bans: enforce, shadow (count and report only) or off"},
		{Flag: "keys-in-memory", Default: "100000", set: into(&s.KeysInMemory, number(kilo, 100_000*kilo)), must: "a number from 1000 to 100000000",
			Usage: "`number` of keys that a node keeps in memory; others are looked up"},
		{Flag: "max-staleness", Default: "30s", set: into(&s.MaxStaleness, ParseDuration),
			Usage: "`age` that a list may have while the database is unavailable; 0 forbids it", More: "With SQLite, lists are never stale."},
		{Flag: "shutdown-timeout", Default: "20s", set: into(&s.ShutdownTimeout, ParseDuration), Usage: "`time` that requests in flight get to finish"},
		{Flag: "backup-every", WhenEmpty: "off", set: into(&s.BackupEvery, interval), must: "a duration of at least 1s, such as 24h, or 0 for no backups",
			Usage: "`time` from one scheduled backup to the next, such as 24h; 0 makes none"},
		{Flag: "backup-keep", Default: "7", set: into(&s.BackupKeep, number(1, 10*kilo)), must: "a number from 1 to 10000",
			Usage: "`number` of scheduled backups that are kept"},
		{Flag: "backup-dir", WhenEmpty: "backups in the data directory", set: into(&s.BackupDir, asGiven),
			Usage: "`directory` of the scheduled backups", More: "It is created with mode 0700, the files with 0600."},
		{Flag: "backup-command", WhenEmpty: "none", set: into(&s.BackupCommand, asGiven),
			Usage: "`program` that gets the path of each scheduled backup, to copy it to another machine",
			More:  "While it fails, no backup counts, and none is removed."},
		{Flag: "log-level", Default: "info", set: into(&s.LogLevel, ParseLogLevel), Choices: []string{"debug", "info", "warn", "error"},
			Usage: "least `level` that is logged: debug, info, warn or error",
			More:  "The access log is `info`. `petcat log-level` sets another level for a time."},
		{Flag: "log-format", WhenEmpty: "text on a terminal, else json", set: into(&s.LogFormat, logFormat), must: "text or json",
			Choices: []string{"text", "json"}, Usage: "`form` of the log: text or json"},
	}
	for i := range all {
		all[i].Env = "PETCAT_" + strings.ToUpper(strings.ReplaceAll(all[i].Flag, "-", "_"))
	}
	return all
}

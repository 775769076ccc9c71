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
	// Choices are all values, in lower case; nil for any.
	Choices []string
	// set checks a value that is not empty, and stores it. must continues the sentence
	// "must be" of its error; without it, the error is such a sentence itself.
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

// Table returns every setting, in the order of the documentation.
func Table() []Setting { return table(&Settings{}) }

// table returns the settings, which store their values in s.
func table(s *Settings) []Setting {
	const aListener = "an address such as :8080, 127.0.0.1:8080 or [::1]:8080"
	all := []Setting{
		{Flag: "data", Default: "./data", set: into(&s.Data, asGiven[string])},
		{Flag: "database", Default: sqliteDatabase, Secret: true, set: into(&s.Database, database)},
		{Flag: "init", Default: "true", set: into(&s.Init, strconv.ParseBool), must: trueOrFalse},
		{Flag: "listen", Default: ":8080", set: into(&s.Listen, address), must: aListener},
		{Flag: "admin-listen", Default: "127.0.0.1:8081", set: into(&s.AdminListen, address), must: aListener},
		{Flag: "admin-allow-plaintext", Default: "false", set: into(&s.AdminAllowPlaintext, strconv.ParseBool), must: trueOrFalse},
		{Flag: "console-url", WhenEmpty: "from the admin listener", set: into(&s.ConsoleURL, consoleURL), must: "an https URL without a path, such as https://console.example.com, or an http URL of a loopback address"},
		{Flag: "environment", Default: string(petcat.Production), set: into(&s.Environment, asGiven[petcat.Environment]), must: "production or staging", Choices: []string{string(petcat.Production), string(petcat.Staging)}},
		{Flag: "node-name", WhenEmpty: "the host's name", set: into(&s.NodeName, nodeName), must: "1 to 63 letters, digits, dots, dashes or underscores"},
		{Flag: "public-url", WhenEmpty: "from the listener", set: into(&s.PublicURL, publicURL), must: "an http or https URL without user, query, fragment and /v1 at the end, such as https://api.example.com"},
		{Flag: "tls-cert", WhenEmpty: "off", set: into(&s.TLSCert, asGiven[string])},
		{Flag: "tls-key", WhenEmpty: "off", set: into(&s.TLSKey, asGiven[string])},
		{Flag: "trusted-proxies", WhenEmpty: "none", set: into(&s.TrustedProxies, networks), must: "networks or addresses separated by commas, such as 10.0.0.0/8,::1"},
		{Flag: "cors-origins", WhenEmpty: "none", set: into(&s.CORSOrigins, origins), must: "origins separated by commas, such as https://app.example.com, or * alone, which allows all"},
		{Flag: "bans", Default: string(petcat.EnforceBans), set: into(&s.Bans, asGiven[petcat.BanMode]), must: "enforce, shadow or off", Choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)}},
		{Flag: "max-staleness", Default: "30s", set: into(&s.MaxStaleness, ParseDuration)},
		{Flag: "shutdown-timeout", Default: "20s", set: into(&s.ShutdownTimeout, ParseDuration)},
		{Flag: "backup-every", WhenEmpty: "off", set: into(&s.BackupEvery, ParseDuration)},
		{Flag: "backup-keep", Default: "7", set: into(&s.BackupKeep, atLeastOne), must: "a number from 1"},
		{Flag: "backup-dir", WhenEmpty: "backups in the data directory", set: into(&s.BackupDir, asGiven[string])},
		{Flag: "backup-command", WhenEmpty: "none", set: into(&s.BackupCommand, asGiven[string])},
		{Flag: "log-level", Default: "info", set: into(&s.LogLevel, ParseLogLevel), must: "debug, info, warn or error", Choices: []string{"debug", "info", "warn", "error"}},
		{Flag: "log-format", WhenEmpty: "text on a terminal, else json", set: into(&s.LogFormat, asGiven[string]), must: "text or json", Choices: []string{"text", "json"}},
	}
	for i, s := range all {
		all[i].Env = "PETCAT_" + strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_"))
		all[i].Usage, all[i].More = texts()[s.Flag][0], texts()[s.Flag][1]
	}
	return all
}

// texts returns the usage of each setting, and what follows it in docs/settings.md.
func texts() map[string][2]string {
	return map[string][2]string{
		"data":                  {"`directory` of the data", "It is created with mode 0700, its files with 0600. Files that root creates there belong to the directory's owner."},
		"database":              {"`place` of accounts, keys and categories: sqlite, which is the file in the data directory, or postgres://…", "Several nodes can share a PostgreSQL database."},
		"init":                  {"create a new deployment if there is none; with false, petcat init has to", "Set `false` once there is data: then a disk that is not mounted, or a wrong name, makes no empty deployment."},
		"listen":                {"`address` of the API", "It also serves the OpenAPI document and the reference page."},
		"admin-listen":          {"`address` of the console, metrics and health", ""},
		"admin-allow-plaintext": {"allow an admin address that other machines can reach without TLS", ""},
		"console-url":           {"`URL` of the console in browsers, if it is behind a proxy", "It has no path."},
		"environment":           {"`environment` of the data: production or staging", "Data and keys belong to one environment."},
		"node-name":             {"`name` of this node for people: in the log, the metrics and petcat node list", "A second running node of that name gets `-2`."},
		"public-url":            {"`URL` that clients use, without /v1", "It goes into the OpenAPI document."},
		"tls-cert":              {"PEM `file` of the certificate chain; reread when it changes", ""},
		"tls-key":               {"PEM `file` of the certificate's key; reread when it changes", ""},
		"trusted-proxies":       {"`networks` whose X-Forwarded-For is believed, such as 10.0.0.0/8,::1", "Their `X-Request-Id` is, too."},
		"cors-origins":          {"`origins` whose web pages may use the API, such as https://app.example.com,http://localhost:3000; * for all", ""},
		"bans":                  {"`mode` of bans: enforce, shadow (count and report only) or off", ""},
		"max-staleness":         {"`age` that a list may have while the database is unavailable; 0 forbids it", "With SQLite, lists are never stale."},
		"shutdown-timeout":      {"`time` that requests in flight get to finish", ""},
		"backup-every":          {"`time` from one scheduled backup to the next, such as 24h; 0 makes none", ""},
		"backup-keep":           {"`number` of scheduled backups that are kept", ""},
		"backup-dir":            {"`directory` of the scheduled backups", "It is created with mode 0700, the files with 0600."},
		"backup-command":        {"`program` that gets the path of each scheduled backup, to copy it to another machine", "While it fails, no backup counts, and none is removed."},
		"log-level":             {"least `level` that is logged: debug, info, warn or error", "The access log is `info`. `petcat log-level` sets another level for a time."},
		"log-format":            {"`form` of the log: text or json", ""},
	}
}

package config

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"petcat"
)

// Setting is one line of the table of settings.
type Setting struct {
	Flag    string // without the dashes
	Env     string // the environment variable
	Default string
	Usage   string // for --help; the `quoted` word names the value
	// WhenEmpty describes the meaning of an empty value.
	WhenEmpty string
	Bool      bool
	// Secret values are masked when they are shown, and may come from a file
	// that is named by Env with _FILE at the end.
	Secret bool
	// Choices are the values that shells complete.
	Choices []string
	// apply checks a value and stores it. Its error continues the sentence that begins
	// with the setting's name, as in "must be ...".
	apply func(s *Settings, value string) error
}

func (s Setting) fileEnv() string { return s.Env + "_FILE" }

// Table returns every setting, in the order of the documentation.
func Table() []Setting {
	return []Setting{
		{
			Flag: "data", Env: "PETCAT_DATA", Default: "./data",
			Usage: "`directory` of the data", apply: applyData,
		},
		{
			Flag: "database", Env: "PETCAT_DATABASE", Default: sqliteDatabase, Secret: true,
			Usage: "`place` of accounts, keys and categories: sqlite, which is the file in the data directory, or postgres://…", apply: applyDatabase,
		},
		{
			Flag: "init", Env: "PETCAT_INIT", Default: "true", Bool: true,
			Usage: "create a new deployment if there is none; with false, petcat init has to", apply: applyInit,
		},
		{
			Flag: "limiter", Env: "PETCAT_LIMITER", WhenEmpty: "memory; database with PostgreSQL", Secret: true,
			Usage: "`place` where requests are counted: memory, which is this process, database, which is that of the data, or redis://…", apply: applyLimiter,
		},
		{
			Flag: "limiter-allow-eviction", Env: "PETCAT_LIMITER_ALLOW_EVICTION", Default: "false", Bool: true,
			Usage: "only warn of a server of the shared counters that may evict counts when its memory is full", apply: applyLimiterAllowEviction,
		},
		{
			Flag: "listen", Env: "PETCAT_LISTEN", Default: ":8080",
			Usage: "`address` of the API", apply: applyListen,
		},
		{
			Flag: "admin-listen", Env: "PETCAT_ADMIN_LISTEN", Default: "127.0.0.1:8081",
			Usage: "`address` of the console, metrics and health", apply: applyAdminListen,
		},
		{
			Flag: "admin-allow-plaintext", Env: "PETCAT_ADMIN_ALLOW_PLAINTEXT", Default: "false", Bool: true,
			Usage: "allow an admin address that other machines can reach without TLS", apply: applyAdminAllowPlaintext,
		},
		{
			Flag: "console-url", Env: "PETCAT_CONSOLE_URL", WhenEmpty: "from the admin listener",
			Usage: "`URL` of the console in browsers, if it is behind a proxy", apply: applyConsoleURL,
		},
		{
			Flag: "environment", Env: "PETCAT_ENVIRONMENT", Default: string(petcat.Production),
			Choices: []string{string(petcat.Production), string(petcat.Staging)},
			Usage:   "`environment` of the data: production or staging", apply: applyEnvironment,
		},
		{
			Flag: "public-url", Env: "PETCAT_PUBLIC_URL", WhenEmpty: "from the listener",
			Usage: "`URL` that clients use, without /v1", apply: applyPublicURL,
		},
		{
			Flag: "tls-cert", Env: "PETCAT_TLS_CERT", WhenEmpty: "off",
			Usage: "PEM `file` of the certificate chain; reread when it changes", apply: applyTLSCert,
		},
		{
			Flag: "tls-key", Env: "PETCAT_TLS_KEY", WhenEmpty: "off",
			Usage: "PEM `file` of the certificate's key; reread when it changes", apply: applyTLSKey,
		},
		{
			Flag: "trusted-proxies", Env: "PETCAT_TRUSTED_PROXIES", WhenEmpty: "none",
			Usage: "`networks` whose X-Forwarded-For is believed, such as 10.0.0.0/8,::1", apply: applyTrustedProxies,
		},
		{
			Flag: "cors-origins", Env: "PETCAT_CORS_ORIGINS", WhenEmpty: "none",
			Usage: "`origins` whose web pages may use the API, such as https://app.example.com,http://localhost:3000; * for all", apply: applyCORSOrigins,
		},
		{
			Flag: "bans", Env: "PETCAT_BANS", Default: string(petcat.EnforceBans),
			Choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)},
			Usage:   "`mode` of bans: enforce, shadow (count and report only) or off", apply: applyBans,
		},
		{
			Flag: "keys-in-memory", Env: "PETCAT_KEYS_IN_MEMORY", Default: "100000",
			Usage: "`number` of keys that a node keeps in memory; others are looked up", apply: applyKeysInMemory,
		},
		{
			Flag: "max-staleness", Env: "PETCAT_MAX_STALENESS", Default: "30s",
			Usage: "`age` that a list may have while the database is unavailable; 0 forbids it", apply: applyMaxStaleness,
		},
		{
			Flag: "shutdown-timeout", Env: "PETCAT_SHUTDOWN_TIMEOUT", Default: "20s",
			Usage: "`time` that requests in flight get to finish", apply: applyShutdownTimeout,
		},
		{
			Flag: "backup-every", Env: "PETCAT_BACKUP_EVERY", WhenEmpty: "off",
			Usage: "`time` from one scheduled backup to the next, such as 24h; 0 makes none", apply: applyBackupEvery,
		},
		{
			Flag: "backup-keep", Env: "PETCAT_BACKUP_KEEP", Default: "7",
			Usage: "`number` of scheduled backups that are kept", apply: applyBackupKeep,
		},
		{
			Flag: "backup-dir", Env: "PETCAT_BACKUP_DIR", WhenEmpty: "backups in the data directory",
			Usage: "`directory` of the scheduled backups", apply: applyBackupDir,
		},
		{
			Flag: "log-level", Env: "PETCAT_LOG_LEVEL", Default: "info", Choices: []string{"debug", "info", "warn", "error"},
			Usage: "least `level` that is logged: debug, info, warn or error", apply: applyLogLevel,
		},
		{
			Flag: "log-format", Env: "PETCAT_LOG_FORMAT", WhenEmpty: "text on a terminal, else json", Choices: []string{"text", "json"},
			Usage: "`form` of the log: text or json", apply: applyLogFormat,
		},
	}
}

// Register adds the flags of the named settings, or of all settings without names, and
// returns these settings.
func Register(flags *pflag.FlagSet, names ...string) (registered []Setting) {
	for _, s := range Table() {
		if len(names) > 0 && !slices.Contains(names, s.Flag) {
			continue
		}
		usage := fmt.Sprintf("%s (%s)", s.Usage, s.Env)
		if s.Bool {
			flags.Bool(s.Flag, s.Default == "true", usage)
		} else {
			flags.String(s.Flag, s.Default, usage)
		}
		registered = append(registered, s)
	}
	return registered
}

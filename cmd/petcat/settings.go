package main

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"petcat"
)

// Settings is what the operator decides, checked and typed.
type Settings struct {
	// Data is the data directory.
	Data string
	// Database is where accounts, keys and categories are kept: "sqlite" for
	// the file in Data, or the address of a PostgreSQL database. Secret, because
	// the address holds a password.
	Database petcat.Secret
	// Limiter is where requests are counted: "memory" for this process, "database" for
	// the PostgreSQL database that holds the data, the address of a Redis or Valkey
	// server, or nothing for the first with SQLite and the second with PostgreSQL.
	Limiter petcat.Secret
	// LimiterAllowEviction accepts a server that may throw counts away.
	LimiterAllowEviction bool
	// Listen and AdminListen are host:port; an empty host is every address.
	Listen, AdminListen string
	// AdminAllowPlaintext lets the admin listener serve others without TLS.
	AdminAllowPlaintext bool
	Environment         petcat.Environment
	// EnvironmentGiven is false when Environment is only the default, which
	// existing data may overrule.
	EnvironmentGiven bool
	// PublicURL is the address that clients use, without the /v1 and without a
	// slash at the end; "" for that of the listener.
	PublicURL string
	// TLSCert and TLSKey are PEM files, both given or neither.
	TLSCert, TLSKey string
	// TrustedProxies are whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	Bans           petcat.BanMode
	// KeysInMemory is how many keys a node keeps in memory.
	KeysInMemory int
	// MaxStaleness is how old a list may be while the database is away; 0
	// forbids it.
	MaxStaleness time.Duration
	// ShutdownTimeout is how long requests in flight may take to finish.
	ShutdownTimeout time.Duration
	LogLevel        slog.Level
	// LogFormat is "text", "json", or "" for text on a terminal and else json.
	LogFormat string
}

// sqlite reports whether the data is the file in the data directory.
func (s Settings) sqlite() bool { return s.Database.IsZero() || s.Database.Reveal() == sqliteDatabase }

// memory reports whether requests are counted in this process.
func (s Settings) memory() bool {
	return s.Limiter.Reveal() == memoryLimiter || s.Limiter.IsZero() && s.sqlite()
}

// countsInDatabase reports whether requests are counted where the data is.
func (s Settings) countsInDatabase() bool {
	return s.Limiter.Reveal() == databaseLimiter || s.Limiter.IsZero() && !s.sqlite()
}

// TLS reports whether the listeners speak TLS.
func (s Settings) TLS() bool { return s.TLSCert != "" }

// setting is one line of the table of settings.
type setting struct {
	flag     string // without the dashes
	env      string
	fallback string // the default
	usage    string // for --help; the `quoted` word names the value
	// whenEmpty tells people what an empty value means.
	whenEmpty string
	boolean   bool
	// secret values are masked when they are shown, and may come from a file
	// that is named by env with _FILE at the end.
	secret bool
	// choices are offered by the shell's completion.
	choices []string
	// apply checks a value and stores it. Its error completes the sentence that
	// the setting's name begins, as in "must be ...".
	apply func(s *Settings, value string) error
}

func (s setting) fileEnv() string { return s.env + "_FILE" }

// settings returns every setting, in the order in which people read them.
func settings() []setting {
	return []setting{
		{
			flag: "data", env: "PETCAT_DATA", fallback: "./data",
			usage: "`directory` of the data", apply: applyData,
		},
		{
			flag: "database", env: "PETCAT_DATABASE", fallback: sqliteDatabase, secret: true,
			usage: "`place` of accounts, keys and categories: sqlite, which is the file in the data directory, or postgres://…", apply: applyDatabase,
		},
		{
			flag: "limiter", env: "PETCAT_LIMITER", whenEmpty: "memory; database with PostgreSQL", secret: true,
			usage: "`place` where requests are counted: memory, which is this process, database, which is that of the data, or redis://…", apply: applyLimiter,
		},
		{
			flag: "limiter-allow-eviction", env: "PETCAT_LIMITER_ALLOW_EVICTION", fallback: "false", boolean: true,
			usage: "only warn of a limiter's server that may throw counts away when its memory is full", apply: applyLimiterAllowEviction,
		},
		{
			flag: "listen", env: "PETCAT_LISTEN", fallback: ":8080",
			usage: "`address` of the API", apply: applyListen,
		},
		{
			flag: "admin-listen", env: "PETCAT_ADMIN_LISTEN", fallback: "127.0.0.1:8081",
			usage: "`address` of metrics and health", apply: applyAdminListen,
		},
		{
			flag: "admin-allow-plaintext", env: "PETCAT_ADMIN_ALLOW_PLAINTEXT", fallback: "false", boolean: true,
			usage: "let the admin address be reached by others without TLS", apply: applyAdminAllowPlaintext,
		},
		{
			flag: "environment", env: "PETCAT_ENVIRONMENT", fallback: string(petcat.Production),
			choices: []string{string(petcat.Production), string(petcat.Staging)},
			usage:   "`environment` of the data: production or staging", apply: applyEnvironment,
		},
		{
			flag: "public-url", env: "PETCAT_PUBLIC_URL", whenEmpty: "from the listener",
			usage: "`URL` that clients use, without /v1", apply: applyPublicURL,
		},
		{
			flag: "tls-cert", env: "PETCAT_TLS_CERT", whenEmpty: "off",
			usage: "PEM `file` of the certificate chain; reread when it changes", apply: applyTLSCert,
		},
		{
			flag: "tls-key", env: "PETCAT_TLS_KEY", whenEmpty: "off",
			usage: "PEM `file` of the certificate's key; reread when it changes", apply: applyTLSKey,
		},
		{
			flag: "trusted-proxies", env: "PETCAT_TRUSTED_PROXIES", whenEmpty: "none",
			usage: "`networks` whose X-Forwarded-For is believed, such as 10.0.0.0/8,::1", apply: applyTrustedProxies,
		},
		{
			flag: "bans", env: "PETCAT_BANS", fallback: string(petcat.EnforceBans),
			choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)},
			usage:   "`mode` of bans: enforce, shadow (count and report only) or off", apply: applyBans,
		},
		{
			flag: "keys-in-memory", env: "PETCAT_KEYS_IN_MEMORY", fallback: "100000",
			usage: "`number` of keys that a node keeps in memory; others are looked up", apply: applyKeysInMemory,
		},
		{
			flag: "max-staleness", env: "PETCAT_MAX_STALENESS", fallback: "30s",
			usage: "`age` that a list may have while the database is away; 0 forbids it", apply: applyMaxStaleness,
		},
		{
			flag: "shutdown-timeout", env: "PETCAT_SHUTDOWN_TIMEOUT", fallback: "20s",
			usage: "`time` that requests in flight get to finish", apply: applyShutdownTimeout,
		},
		{
			flag: "log-level", env: "PETCAT_LOG_LEVEL", fallback: "info", choices: []string{"debug", "info", "warn", "error"},
			usage: "least `level` that is logged: debug, info, warn or error", apply: applyLogLevel,
		},
		{
			flag: "log-format", env: "PETCAT_LOG_FORMAT", whenEmpty: "text on a terminal, else json", choices: []string{"text", "json"},
			usage: "`form` of the log: text or json", apply: applyLogFormat,
		},
	}
}

// registerServeFlags adds the flags of every setting.
func registerServeFlags(cmd *cobra.Command) {
	for _, s := range settings() {
		s.register(cmd)
	}
}

// registerStoreFlags adds the flags that say which data a management command
// works on.
func registerStoreFlags(cmd *cobra.Command) { registerFlags(cmd, "data", "database") }

func registerFlags(cmd *cobra.Command, names ...string) {
	for _, s := range settings() {
		for _, name := range names {
			if s.flag == name {
				s.register(cmd)
			}
		}
	}
}

func (s setting) register(cmd *cobra.Command) {
	usage := fmt.Sprintf("%s (%s)", s.usage, s.env)
	if s.boolean {
		cmd.Flags().Bool(s.flag, false, usage)
	} else {
		cmd.Flags().String(s.flag, s.fallback, usage)
	}
	if len(s.choices) > 0 {
		complete(cmd, s.flag, s.choices)
	}
}

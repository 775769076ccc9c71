package config

import (
	"slices"
	"strconv"

	"github.com/petcat-api/petcat"
)

// Setting is one row of the settings table.
type Setting struct {
	Flag    string // without the dashes
	Env     string // the environment variable
	Default string
	// WhenEmpty describes the meaning of an empty value. Only a setting without a default can
	// be empty.
	WhenEmpty string
	// Secret values are masked in output. They may also come from a file, which the variable Env
	// with the suffix _FILE names.
	Secret bool
	// Usage is the text for --help; the `quoted` word names the value.
	Usage string
	// More follows Usage in docs/settings.md.
	More string
	// Choices are the accepted values, in lower case; nil for any.
	Choices []string
	// set parses and stores a value that is not empty.
	set func(value string) error
	// must continues "must be" in the error message. If must is empty, the error of set itself is
	// such a phrase.
	must string
}

// into returns a function that parses a value and stores the result.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		*to, err = parse(value)
		return err
	}
}

// anyString accepts any value.
func anyString[T ~string](value string) (T, error) { return T(value), nil }

const (
	// trueOrFalse is the field must of boolean settings. Their flags do not need a value.
	trueOrFalse = "true or false"
	// anAddress is the field must of listeners.
	anAddress = "an address such as :8080, 127.0.0.1:8080 or [::1]:8080"
)

// Table returns every setting, in the order of the documentation.
func Table() []Setting { return table(&Settings{}) }

// table returns the settings. They store their values in s.
func table(s *Settings) []Setting {
	return slices.Concat(
		storageSettings(s),
		listenerSettings(s),
		identitySettings(s),
		clientSettings(s),
		serviceSettings(s),
		backupSettings(s),
		logSettings(s),
	)
}

// storageSettings describe where the data is.
func storageSettings(s *Settings) []Setting {
	return []Setting{
		{
			Flag:    "data",
			Env:     "PETCAT_DATA",
			Default: "./data",
			Usage:   "store the data in this `directory`",
			More: "It is created with mode 0700, its files with 0600. " +
				"Root must not use a directory of another user.",
			set: into(&s.Data, anyString[string]),
		},
		{
			Flag:    "database",
			Env:     "PETCAT_DATABASE",
			Default: sqliteDatabase,
			Secret:  true,
			Usage:   "use this `database`: sqlite (a file in the data directory) or postgres://…",
			More:    "Several nodes can share a PostgreSQL database.",
			set:     into(&s.Database, database),
		},
		{
			Flag:    "init",
			Env:     "PETCAT_INIT",
			Default: "true",
			Usage:   "create a new deployment if there is none; if false, only petcat init creates one",
			More: "Set `false` once there is data. " +
				"Then a missing mount or a wrong path cannot cause an empty deployment.",
			set:  into(&s.Init, strconv.ParseBool),
			must: trueOrFalse,
		},
	}
}

// listenerSettings describe the listeners.
func listenerSettings(s *Settings) []Setting {
	return []Setting{
		{
			Flag:    "listen",
			Env:     "PETCAT_LISTEN",
			Default: ":8080",
			Usage:   "serve the API at this `address`",
			More:    "This listener also serves the OpenAPI document and the reference page.",
			set:     into(&s.Listen, address),
			must:    anAddress,
		},
		{
			Flag:    "admin-listen",
			Env:     "PETCAT_ADMIN_LISTEN",
			Default: "127.0.0.1:8081",
			Usage:   "serve the console, the management API, metrics and health at this `address`",
			set:     into(&s.AdminListen, address),
			must:    anAddress,
		},
		{
			Flag:    "admin-allow-plaintext",
			Env:     "PETCAT_ADMIN_ALLOW_PLAINTEXT",
			Default: "false",
			Usage:   "allow an admin address that other machines can reach without TLS",
			set:     into(&s.AdminAllowPlaintext, strconv.ParseBool),
			must:    trueOrFalse,
		},
		{
			Flag:      "console-url",
			Env:       "PETCAT_CONSOLE_URL",
			WhenEmpty: "from the admin listener",
			Usage:     "open the console in browsers at this `URL`, for example of a proxy",
			More:      "It must not have a path.",
			set:       into(&s.ConsoleURL, consoleURL),
			must: "an https URL without a path, such as https://console.example.com, " +
				"or an http URL of a loopback address",
		},
	}
}

// identitySettings describe what a node calls itself.
func identitySettings(s *Settings) []Setting {
	return []Setting{
		{
			Flag:    "environment",
			Env:     "PETCAT_ENVIRONMENT",
			Default: string(petcat.Production),
			Usage:   "serve this `environment`: production or staging",
			More:    "Data and keys belong to one environment.",
			Choices: []string{string(petcat.Production), string(petcat.Staging)},
			set:     into(&s.Environment, anyString[petcat.Environment]),
			must:    "production or staging",
		},
		{
			Flag:      "node-name",
			Env:       "PETCAT_NODE_NAME",
			WhenEmpty: "the host's name",
			Usage:     "use this `name` of the node in logs, metrics and petcat node list",
			More:      "A second running node with the same name gets the suffix `-2`.",
			set:       into(&s.NodeName, nodeName),
			must:      "1 to 63 letters, digits, dots, dashes or underscores",
		},
		{
			Flag:      "public-url",
			Env:       "PETCAT_PUBLIC_URL",
			WhenEmpty: "from the listener",
			Usage:     "use this `URL` in links and the OpenAPI document, without /v1 or another path",
			set:       into(&s.PublicURL, origin),
			must:      "an http or https URL without /v1 or another path, such as https://api.example.com",
		},
	}
}

// clientSettings describe how clients, proxies and browsers connect.
func clientSettings(s *Settings) []Setting {
	return []Setting{
		{
			Flag:      "tls-cert",
			Env:       "PETCAT_TLS_CERT",
			WhenEmpty: "off",
			Usage:     "serve the certificate chain in this PEM `file`; reloaded when it changes",
			set:       into(&s.TLSCert, anyString[string]),
		},
		{
			Flag:      "tls-key",
			Env:       "PETCAT_TLS_KEY",
			WhenEmpty: "off",
			Usage:     "use the private key in this PEM `file`; reloaded when it changes",
			set:       into(&s.TLSKey, anyString[string]),
		},
		{
			Flag:      "trusted-proxies",
			Env:       "PETCAT_TRUSTED_PROXIES",
			WhenEmpty: "none",
			Usage:     "trust X-Forwarded-For from these `networks`, such as 10.0.0.0/8,::1",
			More:      "petcat also trusts their `X-Request-Id`.",
			set:       into(&s.TrustedProxies, listOf(petcat.ParseNetwork)),
			must:      "networks or addresses separated by commas, such as 10.0.0.0/8,::1",
		},
		{
			Flag:      "cors-origins",
			Env:       "PETCAT_CORS_ORIGINS",
			WhenEmpty: "none",
			Usage:     "allow web pages of these `origins`, separated by commas, to use the API; * allows all",
			set:       into(&s.CORSOrigins, listOf(corsOrigin)),
			must:      "origins separated by commas, such as https://app.example.com, or * alone, which allows all",
		},
		{
			Flag:    "customer-pages",
			Env:     "PETCAT_CUSTOMER_PAGES",
			Default: "false",
			Usage:   "serve the customer's page, /account, on the API's listener",
			More: "Without TLS or an https --public-url, it is served only on localhost. " +
				"`petcat dev` enables it.",
			set:  into(&s.CustomerPages, strconv.ParseBool),
			must: trueOrFalse,
		},
	}
}

// serviceSettings describe bans, lists, usage and the shutdown.
func serviceSettings(s *Settings) []Setting {
	return []Setting{
		{
			Flag:    "bans",
			Env:     "PETCAT_BANS",
			Default: string(petcat.EnforceBans),
			Usage:   "set the ban `mode`: enforce, shadow (only count and report) or off",
			Choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)},
			set:     into(&s.Bans, anyString[petcat.BanMode]),
			must:    "enforce, shadow or off",
		},
		{
			Flag:    "max-staleness",
			Env:     "PETCAT_MAX_STALENESS",
			Default: "30s",
			Usage:   "serve lists up to this `age` while the database is unavailable; 0 serves none",
			More:    "With SQLite, lists are never stale.",
			set:     into(&s.MaxStaleness, ParseDuration),
		},
		{
			Flag:    "max-categories-size",
			Env:     "PETCAT_MAX_CATEGORIES_SIZE",
			Default: "64MiB",
			Usage:   "limit the total size of all categories to this `size`",
			More: "A node keeps all categories in memory: " +
				"see [Memory](operations.md#memory).",
			set:  into(&s.MaxCategoriesSize, size),
			must: "a size from 1MiB to 4GiB, such as 64MiB",
		},
		{
			Flag:    "usage-detail",
			Env:     "PETCAT_USAGE_DETAIL",
			Default: "true",
			Usage:   "also count the usage of each key and operation",
			More:    "Without it, `petcat usage --by-key`, exports and `/v1/usage/history?group=` have no rows.",
			set:     into(&s.UsageDetail, strconv.ParseBool),
			must:    trueOrFalse,
		},
		{
			Flag:      "webhook-allow",
			Env:       "PETCAT_WEBHOOK_ALLOW",
			WhenEmpty: "none",
			Usage:     "also allow webhook receivers in these `networks`, such as 10.1.0.0/16, with or without TLS",
			More:      "Other receivers must be on the Internet and have https.",
			set:       into(&s.WebhookAllow, listOf(petcat.ParseNetwork)),
			must:      "networks or addresses separated by commas, such as 10.1.0.0/16,::1",
		},
		{
			Flag:    "shutdown-timeout",
			Env:     "PETCAT_SHUTDOWN_TIMEOUT",
			Default: "20s",
			Usage:   "give requests in flight this `time` to finish",
			set:     into(&s.ShutdownTimeout, ParseDuration),
		},
	}
}

// backupSettings describe scheduled backups.
func backupSettings(s *Settings) []Setting {
	return []Setting{
		{
			Flag:      "backup-every",
			Env:       "PETCAT_BACKUP_EVERY",
			WhenEmpty: "off",
			Usage:     "make a backup at this `interval`, such as 24h; 0 makes none",
			set:       into(&s.BackupEvery, ParseDuration),
		},
		{
			Flag:    "backup-keep",
			Env:     "PETCAT_BACKUP_KEEP",
			Default: "7",
			Usage:   "keep this `number` of scheduled backups",
			set:     into(&s.BackupKeep, atLeastOne),
			must:    "a number from 1",
		},
		{
			Flag:      "backup-dir",
			Env:       "PETCAT_BACKUP_DIR",
			WhenEmpty: "backups in the data directory",
			Usage:     "write scheduled backups to this `directory`",
			More:      "It is created with mode 0700, the files with 0600.",
			set:       into(&s.BackupDir, anyString[string]),
		},
		{
			Flag:      "backup-command",
			Env:       "PETCAT_BACKUP_COMMAND",
			WhenEmpty: "none",
			Usage:     "run this `program` with the path of each scheduled backup, for example to copy it",
			More:      "If it fails, the backup counts as failed, and no older backup is removed.",
			set:       into(&s.BackupCommand, anyString[string]),
		},
	}
}

// logSettings describe the log.
func logSettings(s *Settings) []Setting {
	return []Setting{
		{
			Flag:    "log-level",
			Env:     "PETCAT_LOG_LEVEL",
			Default: "info",
			Usage:   "log this `level` and above: debug, info, warn or error",
			More: "Access log lines have the level `info`. " +
				"`petcat log-level` sets another level for a limited time.",
			Choices: []string{"debug", "info", "warn", "error"},
			set:     into(&s.LogLevel, ParseLogLevel),
			must:    "debug, info, warn or error",
		},
		{
			Flag:      "log-format",
			Env:       "PETCAT_LOG_FORMAT",
			WhenEmpty: "text on a terminal, else json",
			Usage:     "write the log in this `format`: text or json",
			Choices:   []string{"text", "json"},
			set:       into(&s.LogFormat, anyString[string]),
			must:      "text or json",
		},
	}
}

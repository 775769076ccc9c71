package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petcat"
)

// Settings is what the operator decides, checked and typed.
type Settings struct {
	// Data is the data directory.
	Data string
	// Database is where accounts, keys and categories are kept: "sqlite" for
	// the file in Data. Secret, because the address of a server holds a password.
	Database petcat.Secret
	// Limiter is where requests are counted: "memory" for this process.
	Limiter petcat.Secret
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
	// MaxStaleness is how old a list may be while the database is away; 0
	// forbids it.
	MaxStaleness time.Duration
	// ShutdownTimeout is how long requests in flight may take to finish.
	ShutdownTimeout time.Duration
	LogLevel        slog.Level
	// LogFormat is "text", "json", or "" for text on a terminal and else json.
	LogFormat string
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
		{flag: "data", env: "PETCAT_DATA", fallback: "./data",
			usage: "`directory` of the data", apply: applyData},
		{flag: "database", env: "PETCAT_DATABASE", fallback: sqliteDatabase, secret: true,
			usage: "`place` of accounts, keys and categories: sqlite is the file in the data directory", apply: applyDatabase},
		{flag: "limiter", env: "PETCAT_LIMITER", fallback: memoryLimiter, secret: true,
			usage: "`place` where requests are counted: memory is this process", apply: applyLimiter},
		{flag: "listen", env: "PETCAT_LISTEN", fallback: ":8080",
			usage: "`address` of the API", apply: applyListen},
		{flag: "admin-listen", env: "PETCAT_ADMIN_LISTEN", fallback: "127.0.0.1:8081",
			usage: "`address` of metrics and health", apply: applyAdminListen},
		{flag: "admin-allow-plaintext", env: "PETCAT_ADMIN_ALLOW_PLAINTEXT", fallback: "false", boolean: true,
			usage: "let the admin address be reached by others without TLS", apply: applyAdminAllowPlaintext},
		{flag: "environment", env: "PETCAT_ENVIRONMENT", fallback: string(petcat.Production),
			choices: []string{string(petcat.Production), string(petcat.Staging)},
			usage:   "`environment` of the data: production or staging", apply: applyEnvironment},
		{flag: "public-url", env: "PETCAT_PUBLIC_URL", whenEmpty: "from the listener",
			usage: "`URL` that clients use, without /v1", apply: applyPublicURL},
		{flag: "tls-cert", env: "PETCAT_TLS_CERT", whenEmpty: "off",
			usage: "PEM `file` of the certificate chain; reread when it changes", apply: applyTLSCert},
		{flag: "tls-key", env: "PETCAT_TLS_KEY", whenEmpty: "off",
			usage: "PEM `file` of the certificate's key; reread when it changes", apply: applyTLSKey},
		{flag: "trusted-proxies", env: "PETCAT_TRUSTED_PROXIES", whenEmpty: "none",
			usage: "`networks` whose X-Forwarded-For is believed, such as 10.0.0.0/8,::1", apply: applyTrustedProxies},
		{flag: "bans", env: "PETCAT_BANS", fallback: string(petcat.EnforceBans),
			choices: []string{string(petcat.EnforceBans), string(petcat.ShadowBans), string(petcat.BansOff)},
			usage:   "`mode` of bans: enforce, shadow (count and report only) or off", apply: applyBans},
		{flag: "max-staleness", env: "PETCAT_MAX_STALENESS", fallback: "30s",
			usage: "`age` that a list may have while the database is away; 0 forbids it", apply: applyMaxStaleness},
		{flag: "shutdown-timeout", env: "PETCAT_SHUTDOWN_TIMEOUT", fallback: "20s",
			usage: "`time` that requests in flight get to finish", apply: applyShutdownTimeout},
		{flag: "log-level", env: "PETCAT_LOG_LEVEL", fallback: "info", choices: []string{"debug", "info", "warn", "error"},
			usage: "least `level` that is logged: debug, info, warn or error", apply: applyLogLevel},
		{flag: "log-format", env: "PETCAT_LOG_FORMAT", whenEmpty: "text on a terminal, else json", choices: []string{"text", "json"},
			usage: "`form` of the log: text or json", apply: applyLogFormat},
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

// effective is a setting with the value that holds and where it came from.
type effective struct {
	setting
	value  string
	origin string // "default", or what people must look at to change it
	given  bool   // not the default
}

// loadSettings returns the settings of a command: of those whose flags it has,
// the values that hold, and of all others the defaults. Every mistake is in the
// one error. Variables that look like settings and are none are warned about on
// the command's error stream.
func loadSettings(cmd *cobra.Command, getenv func(string) (string, bool)) (Settings, error) {
	warnUnknown(cmd.ErrOrStderr(), os.Environ(), getenv)
	values, mistakes := resolveSettings(cmd, getenv)
	loaded, more := applySettings(values)
	if mistakes = append(mistakes, more...); len(mistakes) > 0 {
		return Settings{}, configErrorf("%s", strings.Join(mistakes, "; "))
	}
	return loaded, nil
}

// resolveSettings finds the value of each setting: flag, then environment, then
// default. An empty variable counts as absent, because that is what the files
// of compose and systemd make of one that is not filled in.
func resolveSettings(cmd *cobra.Command, getenv func(string) (string, bool)) (values []effective, mistakes []string) {
	for _, s := range settings() {
		v := effective{setting: s, value: s.fallback, origin: "default"}
		flag := cmd.Flags().Lookup(s.flag)
		if flag == nil {
			values = append(values, v)
			continue
		}
		fromEnv, _ := getenv(s.env)
		file := ""
		if s.secret {
			file, _ = getenv(s.fileEnv())
		}
		switch {
		case flag.Changed:
			v.value, v.origin, v.given = flag.Value.String(), "flag --"+s.flag, true
		case fromEnv != "" && file != "":
			mistakes = append(mistakes, fmt.Sprintf("%s and %s are both set; unset one", s.env, s.fileEnv()))
		case fromEnv != "":
			v.value, v.origin, v.given = fromEnv, "environment "+s.env, true
		case file != "":
			text, err := readSecretFile(file)
			if err != nil {
				mistakes = append(mistakes, fmt.Sprintf("%s names a file that cannot be used: %v", s.fileEnv(), err))
			}
			v.value, v.origin, v.given = text, "file "+file+" of "+s.fileEnv(), err == nil
			if err != nil {
				v.value = s.fallback
			}
		}
		values = append(values, v)
	}
	return values, mistakes
}

// applySettings checks the values one by one, and then together.
func applySettings(values []effective) (loaded Settings, mistakes []string) {
	for _, v := range values {
		if err := v.apply(&loaded, v.value); err != nil {
			mistakes = append(mistakes, fmt.Sprintf("--%s (%s) %v", v.flag, v.env, err))
		}
		if v.flag == "environment" {
			loaded.EnvironmentGiven = v.given
		}
	}
	return loaded, append(mistakes, loaded.contradictions()...)
}

// maxSecretFile is far above any address, and keeps a wrong file name, such as
// that of a device, from filling the memory.
const maxSecretFile = 64 << 10

func readSecretFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(b))
	switch {
	case len(b) > maxSecretFile:
		return "", fmt.Errorf("%s is longer than %d bytes", name, maxSecretFile)
	case text == "":
		return "", fmt.Errorf("%s is empty", name)
	default:
		return text, nil
	}
}

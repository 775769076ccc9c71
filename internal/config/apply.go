package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"petcat"
)

// The values of --database and --limiter beside addresses.
const (
	sqliteDatabase = "sqlite"
	memoryLimiter  = "memory"
	// databaseLimiter counts where the data is.
	databaseLimiter = "database"
)

func applyData(s *Settings, value string) error {
	if value == "" {
		return errors.New("must name a directory")
	}
	s.Data = value
	return nil
}

// applyDatabase never repeats the value, which may hold a password.
func applyDatabase(s *Settings, value string) error {
	switch scheme, _, _ := strings.Cut(value, "://"); strings.ToLower(scheme) {
	case sqliteDatabase:
		s.Database = petcat.NewSecret(sqliteDatabase)
		return nil
	case "postgres", "postgresql":
		s.Database = petcat.NewSecret(value)
		return nil
	default:
		return errors.New("must be sqlite, which is the file in the data directory (--data), or the address of a PostgreSQL database, postgres://…")
	}
}

// applyLimiter never repeats the value, which may hold a password.
func applyLimiter(s *Settings, value string) error {
	switch scheme, _, _ := strings.Cut(value, "://"); strings.ToLower(scheme) {
	case "":
		return nil
	case memoryLimiter, databaseLimiter:
		s.Limiter = petcat.NewSecret(scheme)
		return nil
	case "redis", "rediss", "redis-sentinel", "redis-cluster":
		s.Limiter = petcat.NewSecret(value)
		return nil
	default:
		return errors.New("must be memory, which counts requests in this process, database, which counts them in the PostgreSQL database that holds the data, or the address of a Redis or Valkey server: redis://…, rediss://…, redis-sentinel://… or redis-cluster://…")
	}
}

func applyListen(s *Settings, value string) (err error) {
	s.Listen, err = parseAddress(value)
	return err
}

func applyAdminListen(s *Settings, value string) (err error) {
	s.AdminListen, err = parseAddress(value)
	return err
}

// parseAddress checks host:port. The port is a number, because the names of
// ports differ between machines; 0 lets the system choose one.
func parseAddress(value string) (string, error) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", fmt.Errorf("must be an address such as :8080, 127.0.0.1:8080 or [::1]:8080 (got %q)", value)
	}
	return value, nil
}

func applyAdminAllowPlaintext(s *Settings, value string) error {
	return applyBool(&s.AdminAllowPlaintext, value)
}

func applyLimiterAllowEviction(s *Settings, value string) error {
	return applyBool(&s.LimiterAllowEviction, value)
}

func applyInit(s *Settings, value string) error {
	err := applyBool(&s.MustExist, value)
	s.MustExist = !s.MustExist
	return err
}

func applyBool(setting *bool, value string) error {
	given, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("must be true or false (got %q)", value)
	}
	*setting = given
	return nil
}

func applyEnvironment(s *Settings, value string) error {
	env, err := petcat.ParseEnvironment(value)
	if err != nil {
		return fmt.Errorf("must be production or staging (got %q)", value)
	}
	s.Environment = env
	return nil
}

func applyPublicURL(s *Settings, value string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("must be an http or https URL without user, query and fragment, such as https://api.example.com")
	}
	base := strings.TrimRight(u.String(), "/")
	if strings.HasSuffix(base, "/v1") {
		return fmt.Errorf("must not end in /v1, which the service adds itself (got %q)", value)
	}
	s.PublicURL = base
	return nil
}

func applyConsoleURL(s *Settings, value string) error {
	if value == "" {
		return nil
	}
	sent, ok := asBrowsersSend(value)
	if !ok {
		return fmt.Errorf("must be a URL without a path, such as https://console.example.com (got %q)", value)
	}
	if address, plain := strings.CutPrefix(sent, "http://"); plain && !isLoopback(address) && !isLoopback(address+":80") {
		return fmt.Errorf("must begin with https://, because who signs in sends a secret (got %q)", value)
	}
	s.ConsoleURL = sent
	return nil
}

func applyTLSCert(s *Settings, value string) error { s.TLSCert = value; return nil }

func applyTLSKey(s *Settings, value string) error { s.TLSKey = value; return nil }

// listed returns the parts of a list.
func listed(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

func applyTrustedProxies(s *Settings, value string) error {
	s.TrustedProxies = nil
	for _, field := range listed(value) {
		network, err := netip.ParsePrefix(field)
		if err != nil {
			address, err := netip.ParseAddr(field)
			if err != nil || address.Zone() != "" {
				return fmt.Errorf("must be networks or addresses separated by commas, such as 10.0.0.0/8,::1 (got %q)", field)
			}
			address = address.Unmap()
			network = netip.PrefixFrom(address, address.BitLen())
		}
		s.TrustedProxies = append(s.TrustedProxies, network.Masked())
	}
	return nil
}

func applyBans(s *Settings, value string) error {
	mode, err := petcat.ParseBanMode(value)
	if err != nil {
		return fmt.Errorf("must be enforce, shadow or off (got %q)", value)
	}
	s.Bans = mode
	return nil
}

// The bounds of --keys-in-memory: values outside of them are certainly typing mistakes.
const (
	minKeysInMemory = 1_000
	maxKeysInMemory = 100_000_000
)

func applyKeysInMemory(s *Settings, value string) (err error) {
	s.KeysInMemory, err = parseNumber(value, minKeysInMemory, maxKeysInMemory)
	return err
}

// parseNumber reads a number from least to most.
func parseNumber(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("must be a number from %d to %d (got %q)", least, most, value)
	}
	return n, nil
}

// minBackupEvery is far below any sensible interval, and above typing mistakes such as 24s.
const minBackupEvery = time.Second

func applyBackupEvery(s *Settings, value string) error {
	if value == "" {
		return nil
	}
	every, err := ParseDuration(value)
	if err != nil {
		return err
	}
	if every != 0 && every < minBackupEvery {
		return fmt.Errorf("must be at least %s, or 0 for no scheduled backups (got %q)", minBackupEvery, value)
	}
	s.BackupEvery = every
	return nil
}

// maxBackupKeep is more backups than anybody needs.
const maxBackupKeep = 10_000

func applyBackupKeep(s *Settings, value string) (err error) {
	s.BackupKeep, err = parseNumber(value, 1, maxBackupKeep)
	return err
}

func applyBackupDir(s *Settings, value string) error { s.BackupDir = value; return nil }

func applyMaxStaleness(s *Settings, value string) (err error) {
	s.MaxStaleness, err = ParseDuration(value)
	return err
}

func applyShutdownTimeout(s *Settings, value string) (err error) {
	s.ShutdownTimeout, err = ParseDuration(value)
	return err
}

func applyLogLevel(s *Settings, value string) (err error) {
	s.LogLevel, err = ParseLogLevel(value)
	return err
}

// ParseLogLevel reads a level of the log.
func ParseLogLevel(value string) (slog.Level, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[strings.ToLower(value)]
	if !ok {
		return 0, fmt.Errorf("must be debug, info, warn or error (got %q)", value)
	}
	return level, nil
}

func applyLogFormat(s *Settings, value string) error {
	switch value {
	case "", "text", "json":
		s.LogFormat = value
		return nil
	default:
		return fmt.Errorf("must be text or json (got %q)", value)
	}
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
	if s.Limiter.Reveal() == databaseLimiter && s.UsesSQLite() {
		mistakes = append(mistakes, "--limiter (PETCAT_LIMITER) database counts in PostgreSQL, but --database (PETCAT_DATABASE) is sqlite: leave --limiter out, or give --database the address of a PostgreSQL database")
	}
	return mistakes
}

// isLoopback reports whether only this machine can reach an address. A name other than
// localhost does not count, because its address may change.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

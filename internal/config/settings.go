package config

import (
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"petcat"
)

// Settings are the settings of a node, checked and typed.
type Settings struct {
	// Data is the data directory.
	Data string
	// Database is where accounts, keys and categories are kept: "sqlite" for
	// the file in Data, or the address of a PostgreSQL database. Secret, because
	// the address holds a password.
	Database petcat.Secret
	// MustExist keeps a server from creating a new deployment where there is none.
	MustExist bool
	// Limiter is where requests are counted: "memory" for this process, "database" for
	// the PostgreSQL database of the data, or the address of a Redis or Valkey server.
	// If it is empty, it is memory with SQLite and database with PostgreSQL.
	Limiter petcat.Secret
	// LimiterAllowEviction accepts a server that may evict counts.
	LimiterAllowEviction bool
	// Listen and AdminListen are host:port; an empty host is every address.
	Listen, AdminListen string
	// AdminAllowPlaintext lets the admin listener serve other machines without TLS.
	AdminAllowPlaintext bool
	Environment         petcat.Environment
	// EnvironmentGiven is false if Environment is only the default. Then management
	// commands accept data of any environment.
	EnvironmentGiven bool
	// PublicURL is the address that clients use, without the /v1 and without a
	// slash at the end; "" for that of the listener.
	PublicURL string
	// ConsoleURL is where browsers find the console, as an origin; "" for the admin
	// listener's address.
	ConsoleURL string
	// TLSCert and TLSKey are PEM files, both given or neither.
	TLSCert, TLSKey string
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose web pages may use the API, in the form in which
	// browsers send them; or * alone.
	CORSOrigins []string
	Bans        petcat.BanMode
	// KeysInMemory is how many keys a node keeps in memory.
	KeysInMemory int
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
	LogLevel  slog.Level
	// LogFormat is "text", "json", or "" for text on a terminal and JSON elsewhere.
	LogFormat string
}

// UsesSQLite reports whether the data is the file in the data directory.
func (s Settings) UsesSQLite() bool {
	return s.Database.IsZero() || s.Database.Reveal() == sqliteDatabase
}

// CountsInMemory reports whether requests are counted in this process.
func (s Settings) CountsInMemory() bool {
	return s.Limiter.Reveal() == memoryLimiter || s.Limiter.IsZero() && s.UsesSQLite()
}

// CountsInDatabase reports whether requests are counted where the data is.
func (s Settings) CountsInDatabase() bool {
	return s.Limiter.Reveal() == databaseLimiter || s.Limiter.IsZero() && !s.UsesSQLite()
}

// BackupFolder returns the folder of the scheduled backups.
func (s Settings) BackupFolder() string {
	if s.BackupDir != "" {
		return s.BackupDir
	}
	return filepath.Join(s.Data, "backups")
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

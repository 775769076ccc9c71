package config

import (
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"time"

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
	// MustExist keeps a server from creating a new deployment where there is none.
	MustExist bool
	// Limiter is where requests are counted: "memory" for this process, "database" for
	// the PostgreSQL database that holds the data, the address of a Redis or Valkey
	// server, or nothing for the first with SQLite and the second with PostgreSQL.
	Limiter petcat.Secret
	// LimiterAllowEviction accepts a server that may evict counts.
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
	// ConsoleURL is where browsers find the console, as an origin; "" for the admin
	// listener's address.
	ConsoleURL string
	// TLSCert and TLSKey are PEM files, both given or neither.
	TLSCert, TLSKey string
	// TrustedProxies are whose X-Forwarded-For is believed.
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
	// BackupEvery is how long it takes from one scheduled backup to the next; 0: there
	// are none.
	BackupEvery time.Duration
	// BackupKeep is how many of them are kept.
	BackupKeep int
	// BackupDir is their folder; "" for one in Data. See BackupFolder.
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

// AdminTLS reports whether the admin listener speaks TLS: only one that others can reach
// needs it, and on the loopback it would be in the way of those who collect metrics there.
func (s Settings) AdminTLS() bool { return s.TLS() && !s.AdminIsLocal() }

// AdminURL returns where this machine reaches the admin listener. It returns an [Error]
// when only the system knows the port.
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
	// An address that means all of this machine's is no address to call.
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

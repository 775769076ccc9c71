package config

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"petcat"
)

// load returns what a command with all settings makes of flags and variables.
func load(t *testing.T, variables []string, arguments ...string) (Settings, error) {
	t.Helper()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	Register(flags)
	if err := flags.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return Load(flags, variables)
}

func mustLoad(t *testing.T, variables []string, arguments ...string) Settings {
	t.Helper()
	s, err := load(t, variables, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantRefused checks that settings are refused with a message that holds all of
// parts.
func wantRefused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if _, ok := errors.AsType[*Error](err); !ok {
		t.Fatalf("got %v; want the settings refused", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not say %q", err, part)
		}
	}
}

func TestDefaults(t *testing.T) {
	got := mustLoad(t, nil)
	want := Settings{
		Data: "./data", Database: petcat.NewSecret("sqlite"),
		Listen: ":8080", AdminListen: "127.0.0.1:8081",
		Environment: petcat.Production, Bans: petcat.EnforceBans,
		KeysInMemory: 100_000, MaxStaleness: 30 * time.Second, ShutdownTimeout: 20 * time.Second, BackupKeep: 7,
	}
	if diff := cmp.Diff(want, got, compareSettings...); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

var compareSettings = []cmp.Option{
	cmp.Comparer(func(a, b petcat.Secret) bool { return a.Reveal() == b.Reveal() }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func TestFlagBeatsEnvironmentBeatsDefault(t *testing.T) {
	variables := []string{"PETCAT_BANS=shadow", "PETCAT_ENVIRONMENT=staging", "PETCAT_DATA="}
	got := mustLoad(t, variables, "--bans", "off")
	if got.Bans != petcat.BansOff {
		t.Errorf("bans are %s; want what the flag says", got.Bans)
	}
	if got.Environment != petcat.Staging || !got.EnvironmentGiven {
		t.Errorf("the environment is %s, given %v; want what the variable says", got.Environment, got.EnvironmentGiven)
	}
	if got.Data != "./data" {
		t.Errorf("data is %q; want the default, as the variable is empty", got.Data)
	}
}

func TestCommandsReadOnlyTheirSettings(t *testing.T) {
	flags := pflag.NewFlagSet("list", pflag.ContinueOnError)
	Register(flags, "data", "database")
	got, err := Load(flags, []string{"PETCAT_DATA=/srv", "PETCAT_MAX_STALENESS=nonsense"})
	if err != nil || got.Data != "/srv" {
		t.Errorf("got %q, %v; want /srv and no complaint about a setting of serve", got.Data, err)
	}
}

func TestGoodSettings(t *testing.T) {
	got := mustLoad(t, []string{
		"PETCAT_TRUSTED_PROXIES=10.1.2.3/8, 192.0.2.1,::ffff:192.0.2.2,2001:db8::/32",
		"PETCAT_TLS_CERT=cert.pem", "PETCAT_TLS_KEY=key.pem",
		"PETCAT_ADMIN_LISTEN=:8081", "PETCAT_PUBLIC_URL=https://api.example.com/pets/",
		"PETCAT_CORS_ORIGINS=https://app.example.com, http://localhost:3000,http://[::1]:8000",
		"PETCAT_MAX_STALENESS=0", "PETCAT_LOG_LEVEL=WARN", "PETCAT_LOG_FORMAT=json",
	})
	want := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"),
		netip.MustParsePrefix("192.0.2.2/32"), netip.MustParsePrefix("2001:db8::/32"),
	}
	if diff := cmp.Diff(want, got.TrustedProxies, compareSettings...); diff != "" {
		t.Errorf("trusted proxies, -want +got:\n%s", diff)
	}
	if want := []string{"https://app.example.com", "http://localhost:3000", "http://[::1]:8000"}; !slices.Equal(got.CORSOrigins, want) {
		t.Errorf("origins %q, want %q", got.CORSOrigins, want)
	}
	if got := mustLoad(t, nil, "--cors-origins", "*").CORSOrigins; !slices.Equal(got, []string{"*"}) {
		t.Errorf("origins %q, want all", got)
	}
	if got.PublicURL != "https://api.example.com/pets" || got.MaxStaleness != 0 || !got.TLS() {
		t.Errorf("got %+v", got)
	}
}

func TestScheduledBackups(t *testing.T) {
	got := mustLoad(t, []string{"PETCAT_DATA=/srv/data", "PETCAT_BACKUP_EVERY=1d12h"}, "--backup-keep", "30")
	if got.BackupEvery != 36*time.Hour || got.BackupKeep != 30 || got.BackupFolder() != filepath.Join("/srv/data", "backups") {
		t.Errorf("every %s, %d, in %s", got.BackupEvery, got.BackupKeep, got.BackupFolder())
	}
	got = mustLoad(t, []string{"PETCAT_BACKUP_DIR=/mnt/backups"}, "--backup-every", "0")
	if got.BackupEvery != 0 || got.BackupFolder() != "/mnt/backups" {
		t.Errorf("every %s, in %s", got.BackupEvery, got.BackupFolder())
	}
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"data", []string{"--data", ""}, []string{"--data", "PETCAT_DATA", "directory"}},
		{"listen", []string{"--listen", "8080"}, []string{"--listen", "PETCAT_LISTEN", ":8080"}},
		{"port", []string{"--listen", ":65536"}, []string{"--listen"}},
		{"admin in the open", []string{"--admin-listen", ":8081"}, []string{"--admin-listen", "PETCAT_ADMIN_LISTEN", "--admin-allow-plaintext"}},
		{"same port", []string{"--listen", "127.0.0.1:8081"}, []string{"--listen", "--admin-listen", "differ"}},
		{"environment", []string{"--environment", "prod"}, []string{"--environment", "PETCAT_ENVIRONMENT", `"prod"`}},
		{"public URL", []string{"--public-url", "api.example.com"}, []string{"--public-url", "https://api.example.com"}},
		{"public URL with version", []string{"--public-url", "https://api.example.com/v1/"}, []string{"--public-url", "/v1"}},
		{"half of TLS", []string{"--tls-key", "k.pem"}, []string{"--tls-cert", "--tls-key", "together"}},
		{"proxies", []string{"--trusted-proxies", "10.0.0.0/33"}, []string{"--trusted-proxies", "10.0.0.0/8"}},
		{"origins", []string{"--cors-origins", "app.example.com"}, []string{"--cors-origins", "PETCAT_CORS_ORIGINS", "https://app.example.com"}},
		{"bans", []string{"--bans", "on"}, []string{"--bans", "shadow"}},
		{"keys in memory", []string{"--keys-in-memory", "1"}, []string{"--keys-in-memory", "1000"}},
		{"staleness", []string{"--max-staleness", "-1s"}, []string{"--max-staleness", "30s"}},
		{"shutdown", []string{"--shutdown-timeout", "20"}, []string{"--shutdown-timeout", "30s"}},
		{"backups too often", []string{"--backup-every", "1ms"}, []string{"--backup-every", "PETCAT_BACKUP_EVERY", "at least 1s"}},
		{"interval", []string{"--backup-every", "24"}, []string{"--backup-every", "24h"}},
		{"no backups", []string{"--backup-keep", "0"}, []string{"--backup-keep", "1 to 10000"}},
		{"level", []string{"--log-level", "loud"}, []string{"--log-level", "debug"}},
		{"format", []string{"--log-format", "xml"}, []string{"--log-format", "json"}},
		{"database", []string{"--database", "mysql://u:secret@h/db"}, []string{"--database", "PETCAT_DATABASE", "sqlite", "postgres://"}},
		{"limiter", []string{"--limiter", "memcached://:secret@h"}, []string{"--limiter", "PETCAT_LIMITER", "memory", "redis://"}},
		{"another database", []string{"--database", "host=h password=secret"}, []string{"--database", "sqlite"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, nil, c.flags...)
			wantRefused(t, err, c.want...)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the message shows a password: %v", err)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load(t, []string{"PETCAT_BANS=maybe", "PETCAT_TLS_CERT=c.pem"}, "--listen", "nowhere")
	wantRefused(t, err, "--listen", "--bans", "--tls-key")
}

func TestSecretFromFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "database")
	if err := os.WriteFile(file, []byte("sqlite\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("used", func(t *testing.T) {
		got := mustLoad(t, []string{"PETCAT_DATABASE_FILE=" + file})
		if got.Database.Reveal() != "sqlite" {
			t.Errorf("the database is %q", got.Database.Reveal())
		}
	})
	t.Run("the flag wins", func(t *testing.T) {
		mustLoad(t, []string{"PETCAT_DATABASE_FILE=" + file + ".absent"}, "--database", "sqlite")
	})
	t.Run("absent", func(t *testing.T) {
		_, err := load(t, []string{"PETCAT_DATABASE_FILE=" + file + ".absent"})
		wantRefused(t, err, "PETCAT_DATABASE_FILE", file+".absent")
	})
	t.Run("given twice", func(t *testing.T) {
		_, err := load(t, []string{"PETCAT_DATABASE_FILE=" + file, "PETCAT_DATABASE=sqlite"})
		wantRefused(t, err, "PETCAT_DATABASE_FILE", "unset one")
	})
	t.Run("too long", func(t *testing.T) {
		if err := os.WriteFile(file, make([]byte, maxSecretFile+1), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := load(t, []string{"PETCAT_LIMITER_FILE=" + file})
		wantRefused(t, err, "PETCAT_LIMITER_FILE", "longer")
	})
}

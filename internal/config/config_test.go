package config

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/petcat-api/petcat"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// load loads the settings of a command that has all flags.
func load(t *testing.T, variables []string, arguments ...string) (Settings, error) {
	t.Helper()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	Register(flags)
	must(t, flags.Parse(arguments))
	return Load(flags, variables)
}

func wantSettings(t *testing.T, want Settings, variables []string, arguments ...string) {
	t.Helper()
	got, err := load(t, variables, arguments...)
	must(t, err)
	got.Values = nil
	secrets := cmp.Comparer(func(a, b petcat.Secret) bool { return a.Reveal() == b.Reveal() })
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, got, secrets, prefixes); diff != "" {
		t.Errorf("%q: settings (-want +got):\n%s", variables, diff)
	}
}

// wantError checks that an error is one line that contains all parts, and no password.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if _, ok := errors.AsType[*petcat.UnusableError](err); !ok {
		t.Fatalf("got %v; want an UnusableError with %q", err, parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not contain %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the message contains a password or a line break: %q", err)
	}
}

// defaults returns the settings without flags and variables.
func defaults() Settings {
	return Settings{
		Data:              "./data",
		Database:          petcat.NewSecret("sqlite"),
		Init:              true,
		Listen:            ":8080",
		AdminListen:       "127.0.0.1:8081",
		Environment:       petcat.Production,
		Bans:              petcat.EnforceBans,
		MaxStaleness:      30 * time.Second,
		MaxCategoriesSize: 64 << 20,
		UsageDetail:       true,
		ShutdownTimeout:   20 * time.Second,
		BackupKeep:        7,
		BackupDir:         "data/backups",
	}
}

// TestLoad: a flag overrides the environment, which overrides the default. White space around
// values is removed.
func TestLoad(t *testing.T) {
	wantSettings(t, defaults(), nil)

	want := defaults()
	want.Bans = petcat.BansOff
	want.Environment = petcat.Staging
	wantSettings(t, want, []string{
		"PETCAT_BANS=shadow",
		"PETCAT_ENVIRONMENT=staging",
		"PETCAT_DATA=",
		"PETCAT_LISTEN= \r\n",
	}, "--bans", "off")

	want = defaults()
	want.Data = "/srv/pet cat"
	want.Database = petcat.NewSecret("postgres://petcat:hunter2@db/petcat")
	want.Init = false
	want.AdminListen = ":8081"
	want.AdminAllowPlaintext = true
	want.ConsoleURL = "https://console.example.com"
	want.PublicURL = "https://api.example.com"
	want.TLSCert = "cert.pem"
	want.TLSKey = "key.pem"
	want.TrustedProxies = []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("192.0.2.1/32"),
		netip.MustParsePrefix("192.0.2.2/32"),
		netip.MustParsePrefix("2001:db8::/32"),
	}
	want.CORSOrigins = []string{
		"https://app.example.com",
		"http://localhost:3000",
		"http://[::1]",
		"https://xn--bcher-kva.example",
	}
	want.MaxStaleness = 0
	want.MaxCategoriesSize = 1_500_000_000
	want.UsageDetail = false
	want.BackupEvery = 36 * time.Hour
	want.BackupKeep = 30
	want.BackupDir = "/mnt/backups"
	want.LogLevel = slog.LevelWarn
	want.LogFormat = "json"
	wantSettings(t, want, []string{
		"PETCAT_DATA=\t/srv/pet cat\r",
		"PETCAT_DATABASE=postgres://petcat:hunter2@db/petcat\n",
		"PETCAT_INIT=false",
		"PETCAT_ADMIN_LISTEN= :8081 ",
		"PETCAT_ADMIN_ALLOW_PLAINTEXT=1",
		"PETCAT_CONSOLE_URL=https://Console.example.com:443/",
		"PETCAT_PUBLIC_URL=https://Api.example.com:443/",
		"PETCAT_TLS_CERT=cert.pem\n",
		"PETCAT_TLS_KEY=key.pem",
		"PETCAT_TRUSTED_PROXIES=10.1.2.3/8, 192.0.2.1,::ffff:192.0.2.2,2001:db8::/32",
		"PETCAT_CORS_ORIGINS=https://App.example.com/, http://localhost:3000,http://[::1]:80 " +
			"https://xn--bcher-kva.example",
		"PETCAT_MAX_STALENESS=0", "PETCAT_MAX_CATEGORIES_SIZE=1.5GB",
		"PETCAT_USAGE_DETAIL=false",
		"PETCAT_BACKUP_EVERY=1d12h",
		"PETCAT_BACKUP_DIR=/mnt/backups",
		"PETCAT_LOG_LEVEL=WARN",
		"PETCAT_LOG_FORMAT=json",
	}, "--backup-keep", "30")

	flags := pflag.NewFlagSet("list", pflag.ContinueOnError)
	Register(flags, "data", "database")
	got, err := Load(flags, []string{"PETCAT_DATA=/srv", "PETCAT_MAX_STALENESS=nonsense"})
	if err != nil || got.Data != "/srv" || got.BackupDir != "/srv/backups" {
		t.Errorf("got %q, %v; want no error about a setting of serve", got.Data, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"data", "", "--data (PETCAT_DATA) must not be empty"},
		{"data", `"./data"`, "--data (PETCAT_DATA) is in quotes; remove them"},
		{"data", `'./data'`, "in quotes"},
		{"data", "./da\nta", "--data (PETCAT_DATA) contains a control character"},
		{"data", "\ufeff./data", "contains a control character"},
		{"data", "~/data", "--data (PETCAT_DATA) starts with ~, which petcat does not expand"},
		{"listen", "8080", `must be an address such as :8080, 127.0.0.1:8080 or [::1]:8080 (got "8080")`},
		{"listen", ":65536", "--listen"},
		{"listen", "127.0.0.1:8081", "must differ"},
		{"admin-listen", ":8081", "--admin-allow-plaintext (PETCAT_ADMIN_ALLOW_PLAINTEXT)"},
		{"environment", "prod", `must be production or staging (got "prod")`},
		{"public-url", "api.example.com", "such as https://api.example.com"},
		{"public-url", "https://u:hunter2@api.example.com", `(got "https://u:***@api.example.com")`},
		{"public-url", "https://api.example.com/pets", "without /v1 or another path, such as https://api.example.com"},
		{"console-url", "http://console.example.com", "must be an https URL"},
		{"console-url", "https://console.example.com/console", "without a path"},
		{"tls-key", "k.pem", "--tls-cert (PETCAT_TLS_CERT) and --tls-key (PETCAT_TLS_KEY) must be given together"},
		{"trusted-proxies", "10.0.0.0/33", "such as 10.0.0.0/8"},
		{"cors-origins", "app.example.com", "such as https://app.example.com"},
		{"cors-origins", "https://*.example.com", "such as https://app.example.com"},
		{"cors-origins", "https://app.example.com/page", "such as https://app.example.com"},
		{"cors-origins", "https://bücher.example", "such as https://app.example.com"},
		{"bans", "on", "must be enforce, shadow or off"},
		{"max-staleness", "-1s", `must be a duration such as 30s, 24h or 90d (got "-1s")`},
		{"backup-every", "24", "such as 30s"},
		{"backup-keep", "0", "must be a number from 1"},
		{"log-level", "loud", "must be debug, info, warn or error"},
		{"log-format", "xml", "must be text or json"},
		{"database", "mysql://u:hunter2@h/db", "this value is not a URL that starts with postgres://"},
		{"database", "host=h password=hunter2", "this value is not a URL"},
		{"database", "postgres://u:hunter2%@h/db", "this value is not a URL"},
		{"database", "postgres://u:hun@ter2@h/db", "write them as %40"},
		{"database", "postgres://u:1/hunter2@h/db", "write them as %40"},
	} {
		_, err := load(t, nil, "--"+c.flag, c.value)
		wantError(t, err, c.want)
	}
	_, err := load(t, []string{"PETCAT_INIT=maybe", "PETCAT_TLS_CERT=c.pem"}, "--listen", "nowhere")
	wantError(t, err, "--listen", "--init (PETCAT_INIT) must be true or false", "--tls-key")
}

func TestSecretFiles(t *testing.T) {
	const url = "postgres://petcat:hunter2@db/petcat"
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	want := defaults()
	want.Database = petcat.NewSecret(url)
	for _, text := range []string{url, url + "\n", "\ufeff" + url + "\r\n\n"} {
		write(text)
		wantSettings(t, want, []string{"PETCAT_DATABASE_FILE=" + file + " "})
	}
	wantSettings(t, defaults(), []string{"PETCAT_DATABASE_FILE=" + file + ".absent"}, "--database", "sqlite")

	for text, part := range map[string]string{
		"\n":             "must not be empty",
		"'" + url + "'":  "in quotes",
		url + "\n" + url: "control character",
	} {
		write(text)
		_, err := load(t, []string{"PETCAT_DATABASE_FILE=" + file})
		wantError(t, err, "PETCAT_DATABASE", part)
	}
	_, err := load(t, []string{"PETCAT_DATABASE_FILE=" + file + ".absent"})
	wantError(t, err, "the file that PETCAT_DATABASE_FILE names", file+".absent")
	_, err = load(t, []string{"PETCAT_DATABASE_FILE=" + file, "PETCAT_DATABASE=sqlite"})
	wantError(t, err, "--database (PETCAT_DATABASE) and PETCAT_DATABASE_FILE are both set; unset one")
}

func TestService(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(file, []byte("\ufeffk\n"), 0o600))
	for _, c := range []struct {
		flag    string
		environ []string
		url     string
	}{
		{"", []string{"PETCAT_API_KEY=k"}, DefaultServiceURL},
		{"", []string{"PETCAT_URL=https://a.example ", "PETCAT_API_KEY= k\n"}, "https://a.example"},
		{
			"https://b.example/petcat/v1/",
			[]string{"PETCAT_URL=https://a.example", "PETCAT_API_KEY_FILE=" + file},
			"https://b.example/petcat",
		},
	} {
		s, err := LoadService(c.flag, c.environ)
		if err != nil || s.URL != c.url || s.Key.Reveal() != "k" {
			t.Errorf("%q: %q, %q, %v", c.environ, s.URL, s.Key.Reveal(), err)
		}
	}
	for part, environ := range map[string][]string{
		"set the environment variable PETCAT_API_KEY": nil,
		"unset one":                {"PETCAT_API_KEY=k", "PETCAT_API_KEY_FILE=" + file},
		"PETCAT_API_KEY_FILE":      {"PETCAT_API_KEY_FILE=" + file + ".absent"},
		"--url (PETCAT_URL) is in": {"PETCAT_API_KEY=k", "PETCAT_URL='https://a.example'"},
	} {
		_, err := LoadService("", environ)
		wantError(t, err, part)
	}
}

func TestUnknownVariables(t *testing.T) {
	got := UnknownVariables([]string{
		"HOME=/root",
		"PETCAT_=",
		"PETCAT_DATA=x",
		"PETCAT_DATA_FILE=x",
		"PETCAT_DATABASE_FILE=x",
		"PETCAT_LISEN=:80",
		"PETCAT_URL=x",
		"PETCAT_API_KEY=x",
		"PETCAT_API_KEY_FILE=x",
		"PETCAT_ADMIN_URL=x",
		"PETCAT_ADMIN_TOKEN=x",
		"PETCAT_PORT=tcp://10.0.0.1:80",
		"PETCAT_PORT_8080_TCP_ADDR=10.0.0.1",
		"PETCAT_SERVICE_HOST=10.0.0.1",
		"PETCAT_SERVICE_PORT_HTTP=80",
		"PETCAT_ADMIN_PORT=tcp://10.0.0.1:80",
		"PETCAT_TCP_PORT=1",
	})
	if diff := cmp.Diff([]string{"PETCAT_", "PETCAT_DATA_FILE", "PETCAT_LISEN"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, s := range Table() {
		if fromKubernetes.MatchString(s.Env) {
			t.Errorf("%s may be set by Kubernetes", s.Env)
		}
	}
}

func TestValues(t *testing.T) {
	flags := pflag.NewFlagSet("config", pflag.ContinueOnError)
	Register(flags)
	must(t, flags.Parse([]string{"--bans", "off"}))
	settings, err := Load(flags, []string{
		"PETCAT_DATABASE=postgres://petcat:hunter2@db/petcat",
		"PETCAT_CORS_ORIGINS=http://localhost:3000,https://a.example",
		"PGPASSWORD=hunter2",
		"PGSSLMODE=require",
	})
	must(t, err)
	if len(settings.Values) != len(Table())+2 {
		t.Fatalf("%d values of %d settings", len(settings.Values), len(Table()))
	}
	for _, want := range []Value{
		{
			Flag:        "--database",
			Environment: "PETCAT_DATABASE",
			Value:       "postgres://petcat:***@db/petcat",
			Default:     "sqlite",
			Origin:      "environment PETCAT_DATABASE",
		},
		{
			Flag:        "--bans",
			Environment: "PETCAT_BANS",
			Value:       "off",
			Default:     "enforce",
			Origin:      "flag --bans",
		},
		{
			Flag:        "--cors-origins",
			Environment: "PETCAT_CORS_ORIGINS",
			Value:       "http://localhost:3000,https://a.example",
			WhenEmpty:   "none",
			Origin:      "environment PETCAT_CORS_ORIGINS",
		},
		{
			Flag:        "--tls-cert",
			Environment: "PETCAT_TLS_CERT",
			WhenEmpty:   "off",
			Origin:      "default",
		},
		{
			Environment: "PGPASSWORD",
			Value:       "***",
			Origin:      "environment PGPASSWORD",
		},
		{
			Environment: "PGSSLMODE",
			Value:       "require",
			Origin:      "environment PGSSLMODE",
		},
	} {
		if !slices.Contains(settings.Values, want) {
			t.Errorf("%+v is not among the values", want)
		}
	}
}

// FuzzMask: passwords are masked, escaped or not.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{
		"hunter2",
		"1/hunter2",
		"1?hunter2",
		"1#hunter2",
		"hun@ter2",
		"hunter2%",
		"%41bcd",
		"a:b:c:d",
		"[::1]",
		"1/x?y=z&sslmode=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, password string) {
		const around = "postgres://petcat:***@db.example:5432/pets?sslmode=require&password="
		if len(password) < 4 || strings.Contains(around, password) {
			return
		}
		got := Setting{Secret: true}.mask(strings.Replace(around, "***", password, 1) + password)
		if strings.Contains(got, password) {
			t.Fatalf("%q is shown: %s", password, got)
		}
	})
}

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0":        0,
		"30s":      30 * time.Second,
		"24h":      day,
		"7d":       7 * day,
		"1d12h30m": day + 12*time.Hour + 30*time.Minute,
		"1.5h":     90 * time.Minute,
		"106751d":  106751 * day,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "d", "7", "-1d", "+1d", "1.5d", "-1h", "1d-2h", "12h1d", "1d 2h", "week", "1y", "2w", "١d",
		"106752d", "106751d24h", "18446744073709551615w",
	} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v; want an error", text, got)
		}
	}
}

// TestTable: a setting's variable follows from its flag, and its error message names all choices.
func TestTable(t *testing.T) {
	for _, s := range Table() {
		if want := "PETCAT_" + strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_")); s.Env != want {
			t.Errorf("the variable of --%s is %s; want %s", s.Flag, s.Env, want)
		}
		for _, choice := range s.Choices {
			if !strings.Contains(s.must, choice) {
				t.Errorf("--%s must be %s; the choice %s is missing", s.Flag, s.must, choice)
			}
		}
	}
}

var update = flag.Bool("update", false, "write docs/settings.md")

// TestDocument checks the table of docs/settings.md against the program's. go generate writes it.
func TestDocument(t *testing.T) {
	const name = "../../docs/settings.md"
	document, err := os.ReadFile(name)
	must(t, err)
	before, rest, found := strings.Cut(string(document), "|---|---|---|---|\n")
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("docs/settings.md has no table of four columns")
	}
	var text strings.Builder
	text.WriteString(before + "|---|---|---|---|\n")
	for _, s := range Table() {
		meaning := strings.ReplaceAll(s.Usage, "`", "")
		if s.More != "" {
			meaning += ". " + s.More
		}
		if s.Secret {
			meaning += fmt.Sprintf(" `%s_FILE` is the path of a file that contains the value.", s.Env)
		}
		shown := s.WhenEmpty
		if s.Default != "" {
			shown = "`" + s.Default + "`"
		}
		fmt.Fprintf(&text, "| `--%s` | `%s` | %s | %s |\n", s.Flag, s.Env, shown, meaning)
	}
	text.WriteString("\n" + after)
	if *update {
		must(t, os.WriteFile(name, []byte(text.String()), 0o644))
	}
	if diff := cmp.Diff(text.String(), string(document)); diff != "" && !*update {
		t.Errorf("run go generate ./internal/config (-table +document):\n%s", diff)
	}
}

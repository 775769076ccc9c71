//go:build unix

package e2e

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

var (
	keepReleased    = flag.Bool("release", false, "keep data of the schema that is to be released, in "+releasedData)
	releasedProgram = flag.String("release-program", "", "the program whose data is kept; that of this tree if empty")
)

// releasedData has a folder for each released schema, such as sqlite-0005: the data, and
// in keptFile what the program of the release said of it.
const (
	releasedData = "testdata/released"
	keptFile     = "expected.json"
)

// kept is what the program of a release said of its own data and settings.
type kept struct {
	Key string
	// Lists are the answers of the API to that key, by their paths.
	Lists map[string]json.RawMessage
	// Commands has what each printed, by its arguments.
	Commands map[string]json.RawMessage
	// Settings are variables with values that are not the defaults, and Config is what
	// petcat config said of them.
	Settings []string
	Config   json.RawMessage
}

// keptCommands say everything that lasts about accounts and keys.
func keptCommands() []string {
	return []string{"account list --json", "key list --json", "audit list --json"}
}

// TestReleasedData: data and settings of every released schema go on working. With
// -release it first keeps data of today's schema.
func TestReleasedData(t *testing.T) {
	if *keepReleased {
		keepData(t)
	}
	folders, err := filepath.Glob(releasedData + "/*-*")
	must(t, err)
	if len(folders) == 0 {
		t.Fatal(releasedData + " is empty")
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, keptFile))
			must(t, err)
			var k kept
			must(t, json.Unmarshal(text, &k))
			k.wantSettings(t)
			k.wantData(t, restoreKept(t, folder))
		})
	}
}

// restoreKept makes the data of a release anew, and returns where it is.
func restoreKept(t *testing.T, folder string) (data string) {
	t.Helper()
	if strings.HasPrefix(filepath.Base(folder), "postgres-") {
		pg := sharedPostgres.Server(t)
		database := pg.Database(t)
		pg.Execute(t, database, string(gunzip(t, filepath.Join(folder, "dump.sql.gz"))))
		return database
	}
	data = t.TempDir()
	must(t, os.WriteFile(filepath.Join(data, "petcat.db"), gunzip(t, filepath.Join(folder, "petcat.db.gz")), 0o600))
	return data
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.Open(name)
	must(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	must(t, err)
	text, err := io.ReadAll(z)
	must(t, err)
	return text
}

func writeGzip(t *testing.T, name string, text []byte) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	must(t, err)
	_, err = z.Write(text)
	must(t, err)
	must(t, z.Close())
	must(t, os.WriteFile(name, b.Bytes(), 0o644))
}

// wantSettings: what was set means the same as it did.
func (k *kept) wantSettings(t *testing.T) {
	t.Helper()
	var out, errs strings.Builder
	if code := execute(t, []string{"config", "--json"}, k.Settings, nil, &out, &errs); code != exitDone {
		t.Errorf("petcat config ends with %d: %s", code, errs.String())
	}
	wantKept(t, "petcat config", k.Config, []byte(out.String()))
}

// wantData: today's program brings the data up to date, finds it whole, says of it what
// was said before, and goes on.
func (k *kept) wantData(t *testing.T, data string) {
	t.Helper()
	petcatDoes(t, data, "migrate")
	petcatDoes(t, data, "verify")
	petcatDoes(t, data, "audit", "verify")
	for command, want := range k.Commands {
		wantKept(t, command, want, []byte(mustRun(t, append(strings.Fields(command), placeFlags(data)...)...)))
	}
	s := serve(t, data, "--environment", "staging")
	for path, want := range k.Lists {
		a := s.do(http.MethodGet, path, "", withKey(k.Key))
		wantStatus(t, a, http.StatusOK)
		if got := a.body; a.Header.Get("X-Stability") == string(petcat.Experimental) {
			wantKept(t, path, onlyIDs(t, want), onlyIDs(t, got)) // the rest may change
		} else {
			wantKept(t, path, want, got)
		}
	}
	all := s.categories(k.Key)
	if id := s.mustCreate(k.Key, "after the upgrade"); id <= all[len(all)-1].ID {
		t.Errorf("a new category has the id %d, which is not after %v", id, all)
	}
	s.mustStop()
	petcatDoes(t, data, "verify")
}

func onlyIDs(t *testing.T, list []byte) []byte {
	t.Helper()
	var ids []struct {
		ID int64 `json:"id"`
	}
	must(t, json.Unmarshal(list, &ids))
	text, err := json.Marshal(ids)
	must(t, err)
	return text
}

// wantKept compares what two versions print: more members may be there, none may be gone
// or another.
func wantKept(t *testing.T, what string, before, now []byte) {
	t.Helper()
	var want, got any
	must(t, json.Unmarshal(before, &want))
	must(t, json.Unmarshal(now, &got))
	if diff := cmp.Diff(want, common(want, got)); diff != "" {
		t.Errorf("%s (-then +now):\n%s", what, diff)
	}
}

// common returns of got what want has, too: members of objects, and of a list of settings
// those settings. Any other list is to be as long as it was.
func common(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		both := map[string]any{}
		for name, value := range g {
			if _, had := w[name]; had {
				both[name] = common(w[name], value)
			}
		}
		return both
	case []any:
		g, ok := got.([]any)
		if !ok {
			return got
		}
		if settings := byEnvironment(w); settings != nil {
			g = slices.DeleteFunc(slices.Clone(g), func(value any) bool { return !settings[environmentOf(value)] })
		}
		both := make([]any, len(g))
		for i := range g {
			both[i] = g[i]
			if i < len(w) {
				both[i] = common(w[i], g[i])
			}
		}
		return both
	default:
		return got
	}
}

func environmentOf(value any) string {
	object, _ := value.(map[string]any)
	name, _ := object["environment"].(string)
	return name
}

// byEnvironment returns the variables in a list of settings, nil for any other list.
func byEnvironment(list []any) map[string]bool {
	var names map[string]bool
	for _, value := range list {
		if name := environmentOf(value); strings.HasPrefix(name, "PETCAT_") {
			if names == nil {
				names = map[string]bool{}
			}
			names[name] = true
		}
	}
	return names
}

// keepData lets a program make data on each store that is here, and keeps it.
func keepData(t *testing.T) {
	t.Helper()
	r := release{program: *releasedProgram}
	directory := filepath.Join(t.TempDir(), "data")
	k := r.makeKept(t, directory)
	db, err := sql.Open("sqlite", filepath.Join(directory, "petcat.db"))
	must(t, err)
	var number int
	must(t, db.QueryRowContext(t.Context(), "SELECT max(version_id) FROM goose_db_version").Scan(&number))
	_, err = db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
	must(t, db.Close())
	file, err := os.ReadFile(filepath.Join(directory, "petcat.db"))
	must(t, err)
	k.write(t, fmt.Sprintf("sqlite-%04d", number), "petcat.db.gz", file)

	t.Run("postgres", func(t *testing.T) {
		pg := sharedPostgres.Server(t)
		database := pg.Database(t)
		k := r.makeKept(t, database)
		k.write(t, fmt.Sprintf("postgres-%04d", schemaOf(t, database)), "dump.sql.gz", dump(t, database))
	})
}

// write keeps what is new. What was kept before stays as it is.
func (k *kept) write(t *testing.T, name, file string, data []byte) {
	t.Helper()
	folder := filepath.Join(releasedData, name)
	if _, err := os.Stat(folder); err == nil {
		t.Logf("%s is there already", folder)
		return
	}
	must(t, os.MkdirAll(folder, 0o755))
	text, err := json.MarshalIndent(k, "", "  ")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, keptFile), append(text, '\n'), 0o644))
	writeGzip(t, filepath.Join(folder, file), data)
	t.Logf("%s is new: commit it", folder)
}

// makeKept makes a deployment in which each sort of thing is, by a program's own
// commands, and returns what it says of it.
func (r release) makeKept(t *testing.T, data string) *kept {
	t.Helper()
	run := func(args ...string) json.RawMessage {
		t.Helper()
		cmd := r.command(append(args, placeFlags(data)...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out
	}
	newKey := func(args ...string) (id, key string) {
		t.Helper()
		var k struct{ ID, Key string }
		must(t, json.Unmarshal(run(append([]string{"key"}, append(args, "--json")...)...), &k))
		return k.ID, k.Key
	}
	run("init", "--environment", "staging")
	run("account", "create", "acme", "--plan", "free")
	run("account", "create", "big", "--plan", "enterprise", "--per-minute", "5000", "--per-day", "70000")
	run("account", "create", "narrow", "--plan", "enterprise", "--per-minute", "1", "--per-day", "1000")
	run("account", "create", "gone", "--plan", "pro")
	run("account", "set-plan", "acme", "business")
	_, _ = newKey("create", "gone")
	run("account", "close", "gone", "--yes")
	k := &kept{}
	_, k.Key = newKey("create", "big", "--label", "first")
	_, banned := newKey("create", "narrow", "--expires", "2099-01-31")
	for _, change := range []string{"disable", "revoke", "rotate"} {
		id, _ := newKey("create", "acme", "--label", change)
		args := map[string][]string{"revoke": {"--yes"}, "rotate": {"--overlap", "0"}}[change]
		run(append([]string{"key", change, id}, args...)...)
	}

	s := newServer(t, data)
	if r.program != "" {
		s.client = &http.Client{Timeout: 30 * time.Second} // today's document is not its own
	}
	s.launch(r.command(serveFlags("serve", data, []string{"--environment", "staging"})...))
	s.awaitReady()
	a := s.do(http.MethodPost, "/v1/categories", `{"name":"Dogs","description":"Loyal\nand hungry: \u0416"}`, withKey(k.Key), withHeader("Idempotency-Key", "once"))
	wantStatus(t, a, http.StatusCreated)
	for _, name := range []string{"Cats", "Birds", "Fish"} {
		s.mustCreate(k.Key, name)
	}
	// Where the program knows them: not every release does.
	_ = s.do(http.MethodPost, "/v1/pets", `{"name":"Rex","category_id":1}`, withKey(k.Key))
	_ = s.do(http.MethodPost, "/v1/store/orders", `{"pet_id":1,"quantity":3}`, withKey(k.Key))
	_ = s.do(http.MethodPatch, "/v1/categories/2", `{"name":"Cats and kittens"}`, withKey(k.Key), withHeader("Content-Type", "application/merge-patch+json"))
	_ = s.do(http.MethodDelete, "/v1/categories/3", "", withKey(k.Key))
	eventually(t, time.Minute, "a key is banned", func() bool { return s.list(banned).code() == petcat.CodeKeyBanned })
	k.Lists = map[string]json.RawMessage{}
	for _, path := range []string{"/v1/categories", "/v1/pets", "/v1/store/orders"} {
		if a := s.do(http.MethodGet, path, "", withKey(k.Key)); a.StatusCode == http.StatusOK {
			k.Lists[path] = a.body
		}
	}
	s.mustStop()

	k.Commands = map[string]json.RawMessage{}
	for _, command := range keptCommands() {
		k.Commands[command] = run(strings.Fields(command)...)
	}
	k.keepSettings(t, r)
	return k
}

// TestSettingsAreKept: a new setting has a value that will be kept with a release.
func TestSettingsAreKept(t *testing.T) {
	t.Parallel()
	(&kept{}).keepSettings(t, today)
}

// keepSettings gives each setting that a program has a value of its own.
func (k *kept) keepSettings(t *testing.T, r release) {
	t.Helper()
	values := map[string]string{
		"PETCAT_DATA": "/srv/petcat", "PETCAT_DATABASE": "postgres://petcat@db.internal/petcat", "PETCAT_LIMITER": "redis://cache.internal:6379",
		"PETCAT_INIT": "false", "PETCAT_LIMITER_ALLOW_EVICTION": "true", "PETCAT_LISTEN": "127.0.0.1:18080", "PETCAT_ADMIN_LISTEN": "127.0.0.1:18081",
		"PETCAT_ADMIN_ALLOW_PLAINTEXT": "true", "PETCAT_CONSOLE_URL": "https://console.example.com", "PETCAT_ENVIRONMENT": "staging", "PETCAT_PUBLIC_URL": "https://api.example.com",
		"PETCAT_TLS_CERT": "/etc/petcat/tls.crt", "PETCAT_TLS_KEY": "/etc/petcat/tls.key", "PETCAT_TRUSTED_PROXIES": "10.0.0.0/8,::1",
		"PETCAT_CORS_ORIGINS": "https://app.example.com", "PETCAT_BANS": "shadow", "PETCAT_KEYS_IN_MEMORY": "5000",
		"PETCAT_MAX_STALENESS": "10s", "PETCAT_SHUTDOWN_TIMEOUT": "15s", "PETCAT_BACKUP_EVERY": "6h", "PETCAT_BACKUP_KEEP": "28", "PETCAT_BACKUP_DIR": "/srv/backups",
		"PETCAT_LOG_LEVEL": "warn", "PETCAT_LOG_FORMAT": "json",
	}
	config := func() json.RawMessage {
		t.Helper()
		cmd := r.command("config", "--json")
		cmd.Env = append(cmd.Env, k.Settings...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("petcat config with %q: %v", k.Settings, err)
		}
		return out
	}
	var known []struct{ Environment string }
	must(t, json.Unmarshal(config(), &known))
	for _, setting := range known {
		value, found := values[setting.Environment]
		if !found {
			t.Fatalf("%s is new: give it a value here, which is not its default", setting.Environment)
		}
		k.Settings = append(k.Settings, setting.Environment+"="+value)
	}
	k.Config = config()
}

package e2e

import (
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsAreNowhere sends a key in every wrong way, and searches all output and files for it, for the
// database password, and for the secrets of operators.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	const password = "hunter2hunter2"
	onBothDatabases(t, func(t *testing.T, place string) {
		files := place
		if strings.Contains(place, "://") {
			place += "&password=" + password
			files = ""
		}
		k := newKey(t, place, "acme", unlimited...)
		revoked := petcatJSON[key](t, place, "key", "create", "acme")
		petcat(t, place, "key", "revoke", revoked.ID, "--yes")
		n := serve(t, place, "--log-level", "debug")
		ci := petcatJSON[struct{ Token string }](t, place, "operator", "token", "create", "ci", "--role", "admin").Token
		link, err := url.Parse(n.signInLink("bob", "viewer"))
		must(t, err)
		secrets := []string{randomOf(k), randomOf(revoked), password, ci, link.Fragment}
		clean := func(where, text string) {
			t.Helper()
			for _, secret := range secrets {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%s contains a secret: %.200q", where, text[max(0, i-100):])
				}
			}
		}
		get := func(path string, changes ...change) *response { return n.do(http.MethodGet, path, "", changes...) }
		post := func(body string) *response { return n.do(http.MethodPost, "/v1/categories", body, by(k.Key)) }
		authorization := func(value string) change { return header("Authorization", value) }
		for _, a := range []*response{
			n.create(k.Key, "dog"), n.list(k.Key), n.list(revoked.Key), n.list(k.Key + "x"), n.list(k.Key[:46] + "!"),
			get("/v1/categories", authorization("Basic "+k.Key)), get("/v1/categories", authorization(k.Key)),
			get("/v1/categories", by(k.Key), by(k.Key)), get("/v1/categories/"+k.Key, by(k.Key)),
			get("/" + k.Key), get("/v1/pck%5Flive%5F"+randomOf(k), by(k.Key)), get("/v1/"+randomOf(k), by(k.Key)),
			get("/v1/categories?api_key=" + k.Key), get("/v1/categories?after="+k.Key, by(k.Key)),
			post(k.Key), post(`"` + k.Key + `"`), post(`{"` + k.Key + `":1}`), post(`{"name":["` + k.Key + `"]}`),
			n.create(k.Key, "dog", header("Idempotency-Key", k.Key+" "+k.Key)),
			n.list(k.Key, header("X-Request-Id", k.Key)),
			n.list(k.Key, header("User-Agent", k.Key)),
			n.list(k.Key, header("Referer", "https://x/?k="+k.Key)),
			n.list(k.Key, header("Cookie", k.Key)),
			n.list(k.Key, header("If-None-Match", `"`+k.Key+`"`)),
		} {
			clean("the response to "+a.Request.Method, string(a.body))
			for name, values := range a.Header {
				clean(name, strings.Join(values, ","))
			}
		}
		for token, status := range map[string]int{ci: http.StatusOK, ci + "x": http.StatusUnauthorized} {
			a, err := try(http.DefaultClient, http.MethodGet, n.admin+"/admin/v1/accounts", nil, by(token))
			must(t, err)
			clean("the management API", string(a.want(t, status).body))
		}
		clean("the metrics", string(n.ask("/metrics").body))
		ada := n.signIn("ada", "admin")
		for _, path := range []string{
			"/console/",
			"/console/accounts",
			"/console/keys/" + k.ID,
			"/console/settings",
			"/console/audit",
			"/console/operators",
		} {
			clean(path, ada.get(path))
		}
		admin, err := url.Parse(n.admin)
		must(t, err)
		secrets = append(secrets, ada.client.Jar.Cookies(admin)[0].Value)
		clean("a rejected sign-in", ada.post("/console/sign-in", http.StatusForbidden, "token", link.Fragment+"x"))
		clean("a sign-in", ada.post("/console/sign-in", http.StatusOK, "token", link.Fragment))
		for _, args := range [][]string{
			{"config"},
			{"doctor"},
			{"key", "list", "--json"},
			{"operator", "token", "list", "--json"},
			{"account", "show", "acme", "--json"},
			{"audit", "list", "--json"},
		} {
			o := run(t, placed(place, args...)...)
			clean(strings.Join(args, " "), o.stdout+o.stderr)
		}
		inFiles := func(dir string) {
			must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() {
					return err
				}
				data, err := os.ReadFile(path)
				clean(path, string(data))
				return err
			}))
		}
		backups := t.TempDir()
		petcat(t, place, "backup", filepath.Join(backups, "a.backup"))
		inFiles(backups)
		if files != "" {
			inFiles(files) // with the write-ahead log, and after it is removed
		}
		n.stop()
		if files != "" {
			inFiles(files)
		}
		clean("the log", n.log.String()+n.stdout.String())
	})
}

// randomOf returns the random part of a key, without the last characters, which operators see.
func randomOf(k key) string { return strings.TrimPrefix(k.Key, "pck_live_")[:28] }

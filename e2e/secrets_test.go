package e2e

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"petcat/internal/backup"
)

// TestKeysAreNowhere sends a key in every way that a client may get wrong, and
// looks for it everywhere but where it was printed once.
func TestKeysAreNowhere(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data, "--log-level", "debug")
	openAccount(t, data, "acme", unlimited...)
	_, key := issueKey(t, data, "acme")
	id, revoked := issueKey(t, data, "acme")
	petcatDoes(t, data, "key", "revoke", id, "--yes")
	random := strings.TrimPrefix(key, "pck_live_")

	header := func(value string) request { return withHeader("Authorization", value) }
	get := func(path string, changes ...request) *answer { return s.do(http.MethodGet, path, "", changes...) }
	post := func(body string) *answer { return s.do(http.MethodPost, "/v1/categories", body, withKey(key)) }
	for _, c := range []struct {
		name   string
		answer *answer
	}{
		{"good", s.list(key)},
		{"good, and created", s.create(key, "dog")},
		{"revoked", s.list(revoked)},
		{"misspelt", s.list(key + "x")},
		{"basic", get("/v1/categories", header("Basic "+key))},
		{"no scheme", get("/v1/categories", header(key))},
		{"twice", get("/v1/categories", withKey(key), withKey(key))},
		{"path", get("/v1/categories/"+key, withKey(key))},
		{"path outside", get("/" + key)},
		{"escaped path", get("/v1/pck%5Flive%5F"+random, withKey(key))},
		{"path that is escaped twice", get("/v1/%2570ck_live_"+random, withKey(key))},
		{"path without the prefix", get("/v1/"+random, withKey(key))},
		{"path outside that is escaped twice", get("/p%2563k_live_" + random)},
		{"query that is escaped", get("/v1/categories?api%5Fkey=%2570ck_live_" + random)},
		{"query", get("/v1/categories?api_key=" + key)},
		{"query and header", get("/v1/categories?after="+key, withKey(key))},
		{"query of a list", get("/v1/categories?limit="+url.QueryEscape(key[4:]), withKey(key))},
		{"body that is no JSON", post(key)},
		{"body that is a string", post(`"` + key + `"`)},
		{"name that is a member", post(`{"` + key + `":1}`)},
		{"bad name", post(`{"name":["` + key + `"]}`)},
		{"bad idempotency key", s.create(key, "dog", withHeader("Idempotency-Key", key+" "+key))},
		{"request id", s.list(key, withHeader("X-Request-Id", key))},
		{"agent", s.list(key, withHeader("User-Agent", key), withHeader("Referer", "https://x/?k="+key), withHeader("Cookie", key))},
		{"method", s.do(key[:9]+"x", "/v1/categories", "", withKey(key))},
		{"condition", s.list(key, withHeader("If-None-Match", `"`+key+`"`))},
		{"type", s.do(http.MethodPost, "/v1/categories", "", withKey(key), withHeader("Content-Type", "text/"+key))},
	} {
		wantNoSecret(t, "the answer to "+c.name, string(c.answer.body), key, revoked)
		for name, values := range c.answer.Header {
			wantNoSecret(t, name+" of the answer to "+c.name, strings.Join(values, ","), key, revoked)
		}
	}
	_, metrics := s.ask("/metrics")
	wantNoSecret(t, "the metrics", metrics, key, revoked)
	// While the log of writes is still there, and after it is gone.
	wantNoSecretInFiles(t, data, key, revoked)
	s.mustStop()
	wantNoSecretInFiles(t, data, key, revoked)
	wantNoSecret(t, "a backup", rowsAsText(t, data), key, revoked)
	wantNoSecret(t, "the log", s.log.String()+s.stdout.String(), key, revoked)
	for _, command := range [][]string{{"key", "list"}, {"key", "list", "--json"}, {"account", "show", "acme", "--json"}} {
		wantNoSecret(t, strings.Join(command, " "), petcatDoes(t, data, command...), key, revoked)
	}
}

// wantNoSecret checks that a text holds no key, nor the part of one that nobody
// can guess.
func wantNoSecret(t *testing.T, where, text string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if i := secretIn(text, key); i >= 0 {
			t.Errorf("a key is in %s: %.200q", where, text[max(0, i-100):])
		}
	}
}

// secretIn returns where a text holds a key, -1 for nowhere. The last characters
// do not matter: they are the hint by which operators tell keys apart.
func secretIn(text, key string) int {
	return strings.Index(text, strings.TrimPrefix(key, "pck_live_")[:30])
}

// TestKeyWouldBeFound plants a key where the test above must find it: a name may
// be anything, and is stored as it was sent.
func TestKeyWouldBeFound(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	a := s.create(key, "my key is "+key)
	wantStatus(t, a, http.StatusCreated)
	s.mustStop()
	stored, err := os.ReadFile(filepath.Join(data, "petcat.db"))
	must(t, err)
	if secretIn(string(a.body), key) < 0 || secretIn(string(stored), key) < 0 || secretIn(rowsAsText(t, data), key) < 0 {
		t.Error("a key that is there is not found")
	}
}

// rowsAsText returns what is in a backup, which is compressed in the file.
func rowsAsText(t *testing.T, data string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.backup")
	petcatDoes(t, data, "backup", file)
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	r, err := backup.NewReader(f)
	must(t, err)
	defer r.Close()
	var text strings.Builder
	must(t, r.CopyTo(&textSink{&text}))
	return text.String()
}

type textSink struct{ *strings.Builder }

func (s *textSink) Begin(h backup.Header) error {
	_, err := fmt.Fprintf(s, "%+v\n", h)
	return err
}

func (s *textSink) Row(k backup.Kind, values []any) error {
	for _, v := range values {
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		_, _ = fmt.Fprintln(s, k, v)
	}
	return nil
}

// wantNoSecretInFiles looks through every byte of the data, and at who may read
// it.
func wantNoSecretInFiles(t *testing.T, data string, keys ...string) {
	t.Helper()
	files := 0
	must(t, filepath.WalkDir(data, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			if mode := info.Mode().Perm(); mode != 0o700 {
				t.Errorf("%s has the mode %o", name, mode)
			}
			return nil
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has the mode %o", name, mode)
		}
		text, err := os.ReadFile(name)
		files++
		wantNoSecret(t, name, string(text), keys...)
		return err
	}))
	if files < 2 {
		t.Errorf("there are only %d files in %s", files, data)
	}
}

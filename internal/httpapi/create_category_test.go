package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestCreateCategory(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	x := func(n int) string { return strings.Repeat("x", n) }

	t.Run("201", func(t *testing.T) {
		for i, c := range []struct{ name, body, want string }{
			{"name alone", `{"name":"dog"}`, `{"id":1,"name":"dog"}`},
			{"both", `{"description":"d","name":"cat"}`, `{"id":2,"name":"cat","description":"d"}`},
			{"an id that was sent is ignored", `{"id":77,"name":"n"}`, `{"id":3,"name":"n"}`},
			{"other members are ignored", `{"a":{"b":[1,{}]},"name":"n","NAME":"m"}`, `{"id":4,"name":"n"}`},
			{"names need not be unique", `{"name":"dog"}`, `{"id":5,"name":"dog"}`},
			{"as sent", `{"n\u0061me":"\u00e9\/","description":"\tb\r\n"}`, `{"id":6,"name":"é/","description":"\tb\r\n"}`},
		} {
			a := s.create(c.body, withKey(key))
			if a.StatusCode != 201 || string(a.body) != c.want {
				t.Errorf("%d %s: %d %s\nwant %s", i, c.name, a.StatusCode, a.body, c.want)
			}
			id, _, _ := strings.Cut(strings.TrimPrefix(c.want, `{"id":`), ",")
			wantHeader(t, a, "Location", "/v1/categories/"+id)
			wantHeader(t, a, "Content-Type", "application/json")
			wantHeader(t, a, "Idempotent-Replayed", "")
		}
	})

	for _, c := range []struct {
		name, body string
		code       petcat.Code
		message    string
	}{
		{"name missing", `{}`, petcat.CodeMissingField, "name is required"},
		{"name null", `{"name":null}`, petcat.CodeInvalidField, "name must be a string"},
		{"name blank", `{"name":" \u00a0\u2003"}`, petcat.CodeInvalidField, "name must contain something"},
		{"name too long", `{"name":"` + x(1001) + `"}`, petcat.CodeInvalidField, "at most 1000"},
		{
			"description null", `{"name":"n","description":null}`,
			petcat.CodeInvalidField, "description must be a string; leave it out if there is none",
		},
		{"name empty", `{"name":""}`, petcat.CodeInvalidField, "name must not be empty"},
		{"a byte order mark", "\ufeff{}", petcat.CodeMalformedJSON, "byte order mark"},
		{"single quotes", `{'name':'x'}`, petcat.CodeMalformedJSON, "in double quotes"},
		{"array", `[]`, petcat.CodeInvalidBody, "must be a JSON object"},
		{"empty", ``, petcat.CodeMalformedJSON, "empty"},
		{"cut off", `{"name":"dog"`, petcat.CodeMalformedJSON, "ends in the middle"},
		{"member twice", `{"name":"a","name":"b"}`, petcat.CodeMalformedJSON, "twice"},
		{"invalid UTF-8", "{\"name\":\"a\xff\"}", petcat.CodeMalformedJSON, "UTF-8"},
	} {
		t.Run("400 "+c.name, func(t *testing.T) {
			a := s.create(c.body, withKey(key))
			wantError(t, a, 400, c.code)
			wantMessage(t, a, c.message)
		})
	}

	t.Run("413", func(t *testing.T) {
		large := `{"name":"n","z":"` + x(1<<20) + `"}`
		wantError(t, s.create(large, withKey(key)), 413, petcat.CodeBodyTooLarge)
		// Without a length, it is found out by reading.
		chunked := s.do("POST", "/v1/categories", io.MultiReader(strings.NewReader(large)), withKey(key))
		wantError(t, chunked, 413, petcat.CodeBodyTooLarge)
		// The largest is taken.
		head := `{"name":"n","z":"`
		largest := head + x(1<<20-len(head)-2) + `"}`
		wantStatus(t, s.create(largest, withKey(key)), 201)
	})

	t.Run("415", func(t *testing.T) {
		for _, kind := range []string{"text/plain", "application/jsonx", "json"} {
			typed := withHeader("Content-Type", kind)
			a := s.do("POST", "/v1/categories", strings.NewReader(`{"name":"n"}`), withKey(key), typed)
			wantError(t, a, 415, petcat.CodeUnsupportedMediaType)
			wantMessage(t, a, "send exactly one Content-Type header: application/json")
		}
		typed := withHeader("Content-Type", "text/"+key)
		secret := s.do("POST", "/v1/categories", strings.NewReader(`{"name":"n"}`), withKey(key), typed)
		wantError(t, secret, 415, petcat.CodeUnsupportedMediaType)
		if strings.Contains(string(secret.body), "text/") {
			t.Errorf("the response contains a key: %s", secret.body)
		}
		twice := s.create(`{"name":"n"}`, withKey(key), withHeader("Content-Type", "application/json"))
		wantError(t, twice, 415, petcat.CodeUnsupportedMediaType)
		kinds := []string{"application/json; charset=utf-8", "Application/JSON", "application/json; a=1; a=2", ""}
		for _, kind := range kinds {
			a := s.do("POST", "/v1/categories", strings.NewReader(`{"name":"n"}`), withKey(key), func(r *http.Request) {
				r.Header.Set("Content-Type", kind)
			})
			wantStatus(t, a, 201)
		}
		for _, codings := range [][]string{{"gzip"}, {"identity, gzip"}} {
			coded := func(r *http.Request) { r.Header["Content-Encoding"] = codings }
			a := s.create(`{"name":"n"}`, withKey(key), coded)
			wantError(t, a, 415, petcat.CodeUnsupportedMediaType)
			wantHeader(t, a, "Accept-Encoding", "identity")
		}
	})
}

func TestCreateCategoryConditions(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	create := func(name, value string) *response {
		t.Helper()
		return s.create(`{"name":"dog"}`, withKey(key), withHeader(name, value))
	}
	empty := s.list(withKey(key)).Header.Get("ETag")
	wantStatus(t, create("If-Match", empty), 201)
	wantError(t, create("If-Match", empty), 412, petcat.CodePreconditionFailed)
	now := s.list(withKey(key)).Header.Get("ETag")
	wantError(t, create("If-None-Match", now), 412, petcat.CodePreconditionFailed)
	wantStatus(t, create("If-None-Match", empty), 201)
	// A replay gets the first response, although the create changed the list. A new create is
	// rejected.
	three := s.list(withKey(key)).Header.Get("ETag")
	match := withHeader("If-Match", three)
	once := func(name string) *response {
		t.Helper()
		return s.create(`{"name":"dog"}`, withKey(key), match, withHeader("Idempotency-Key", name))
	}
	first, again := once("one"), once("one")
	wantStatus(t, first, 201)
	wantStatus(t, again, 201)
	wantHeader(t, again, "Location", first.Header.Get("Location"))
	wantError(t, once("two"), 412, petcat.CodePreconditionFailed)
	// Errors of the body take precedence over the condition.
	wantError(t, s.create(`{}`, withKey(key), withHeader("If-Match", `"nope"`)), 400, petcat.CodeMissingField)
	if got := string(s.list(withKey(key)).body); strings.Count(got, `"id":`) != 3 {
		t.Errorf("list: %s, want three categories", got)
	}
}

func TestCreateCategoryIdempotency(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Enterprise, 100_000, 1_000_000)
	key, _ := s.key(account)
	second, _ := s.key(account)
	once := withHeader("Idempotency-Key", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`)

	first := s.create(`{"name":"dog","description":"d"}`, withKey(key), once)
	wantStatus(t, first, 201)
	wantHeader(t, first, "Idempotent-Replayed", "")

	t.Run("201 replayed", func(t *testing.T) {
		const other = ` {"description":"d", "x":1, "name":"d\u006fg"}`
		for _, body := range []string{`{"name":"dog","description":"d"}`, other} {
			a := s.create(body, withKey(second), once)
			wantStatus(t, a, 201)
			wantHeader(t, a, "Idempotent-Replayed", "true")
			wantHeader(t, a, "Location", first.Header.Get("Location"))
			if string(a.body) != string(first.body) {
				t.Errorf("replay %s, first response %s", a.body, first.body)
			}
		}
	})
	t.Run("422 another body", func(t *testing.T) {
		for _, body := range []string{
			`{"name":"cat","description":"d"}`,
			`{"name":"dog"}`,
			`{"name":"dog","description":""}`,
		} {
			wantError(t, s.create(body, withKey(key), once), 422, petcat.CodeIdempotencyKeyReused)
		}
	})
	t.Run("400 bad key", func(t *testing.T) {
		for _, bad := range []string{"", "a b"} {
			a := s.create(`{"name":"dog"}`, withKey(key), withHeader("Idempotency-Key", bad))
			wantError(t, a, 400, petcat.CodeInvalidField)
			wantMessage(t, a, "Idempotency-Key")
		}
		a, b := withHeader("Idempotency-Key", "a"), withHeader("Idempotency-Key", "b")
		twice := s.create(`{"name":"dog"}`, withKey(key), a, b)
		wantError(t, twice, 400, petcat.CodeInvalidField)
	})
}

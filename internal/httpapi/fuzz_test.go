package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/apicheck"
	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
	"petcat/internal/ratelimit"
)

// inProcess is the API without a network, a disk or limits, for tests that ask
// very often, or at moments that a network would not keep. It keeps no category.
type inProcess struct {
	handler http.Handler
	clock   *clock.Manual
	catalog *catalog.Catalog
	key     petcat.GeneratedKey  // of account 1
	other   petcat.GeneratedKey  // of account 2
	created []petcat.NewCategory // since somebody emptied it

	petcat.CategoryStore // nil: what this one does not implement is not called
	petcat.PetStore      // nil
	petcat.OrderStore    // nil
}

// newInProcess makes one; change may replace parts of the options.
func newInProcess(t testing.TB, change ...func(*httpapi.Options)) *inProcess {
	t.Helper()
	// The same keys each time, so that what a fuzzer found can be tried again.
	random := rand.NewChaCha8([32]byte{1})
	key, err := petcat.GenerateKey(petcat.Production, random)
	must(t, err)
	other, err := petcat.GenerateKey(petcat.Production, random)
	must(t, err)
	at := clock.NewManual(noon)
	p := &inProcess{clock: at, catalog: catalog.New("d"), key: key, other: other}
	keys := keyring.New(keyring.Options{
		Environment: petcat.Production, Store: p, Clock: at, CatchUp: func(context.Context) error { return nil },
	})
	keys.LoadHashes(t.Context())
	o := httpapi.Options{
		Catalog: p.catalog, Store: p, Pets: p, Orders: p, Keyring: keys,
		Limiter: unlimited{}, Failures: ratelimit.NewFailureBucket(ratelimit.NewClock(at), 1<<40),
		Peeks: ratelimit.NewPeekBucket(ratelimit.NewClock(at)),
		Clock: at, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	p.handler, err = httpapi.New(o)
	must(t, err)
	return p
}

func (p *inProcess) CreateCategory(_ context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error) {
	p.created = append(p.created, c.New)
	return petcat.CreatedCategory{Category: c.New.As(1)}, nil
}

func (p *inProcess) FindCredentials(_ context.Context, hashes []petcat.KeyHash) (map[petcat.KeyHash]petcat.Credential, error) {
	accounts := map[petcat.KeyHash]petcat.AccountID{p.key.Hash: 1, p.other.Hash: 2}
	found := make(map[petcat.KeyHash]petcat.Credential)
	for _, hash := range hashes {
		if id := accounts[hash]; id != 0 {
			found[hash] = petcat.Credential{
				Key:     petcat.Key{ID: petcat.KeyID(id), Account: id},
				Account: petcat.Account{ID: id, Plan: petcat.Free, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}},
			}
		}
	}
	return found, nil
}

func (p *inProcess) EachKeyHash(_ context.Context, fn func(petcat.KeyHash) error) error {
	if err := fn(p.key.Hash); err != nil {
		return err
	}
	return fn(p.other.Hash)
}

// unlimited admits everything, always as the first request of the day.
type unlimited struct{}

func (u unlimited) Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	return u.Spend(ctx, c)
}

func (unlimited) Spend(context.Context, ratelimit.Charge) (ratelimit.Decision, error) {
	minute := ratelimit.WindowState{Limit: 60, Remaining: 59, Reset: noon.Unix() + 42}
	return ratelimit.Decision{
		Now: noon.UnixNano(), Minute: minute, Effective: minute,
		Day: ratelimit.WindowState{Limit: 1_000, Remaining: 999, Reset: noon.Unix() + 43_182},
	}, nil
}

// do sends a request with headers that no client would send, and checks what
// holds of all answers.
func (p *inProcess) do(t testing.TB, method, path string, body []byte, header http.Header) *answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	res := w.Result()
	res.Request = r
	data, err := io.ReadAll(res.Body)
	must(t, err)
	// The recorder keeps names as they were written; a client would not.
	for name, values := range res.Header {
		if canonical := http.CanonicalHeaderKey(name); canonical != name {
			delete(res.Header, name)
			res.Header[canonical] = values
		}
	}
	for _, problem := range apicheck.Problems(res, data, noon.Unix(), noon.Unix()) {
		t.Errorf("%s %s: %d: %s", method, path, res.StatusCode, problem)
	}
	return &answer{Response: res, body: data}
}

// bodies are texts at the edges of JSON (RFC 8259) and of the contract.
func bodies() []string {
	all := []string{
		`{"name":"x"}`, "\r\n\t {\t\"name\"\r:\n\"x\" } \n", `{"\u006eam\u0065":"a\"\\\/b"}`, `{"name":"\uD83D\udc15"}`, `{"name":"\uffff\ufdd0"}`, "{\"name\":\"\ufeffa\u2028b\"}",
		`{"name":"\\u0041"}`, `{"":1,"name":"x"}`, `{"Name":"a","NAME":"b","name":"c"}`, `{"id":99999999999999999999,"name":"dog"}`,
		`{"name":"\ud83d"}`, `{"name":"\udc15\ud83d"}`, `{"name":"\ud83d\u0041"}`, `{"\ud800":1,"name":"x"}`, `{"name":"a","nam\u0065":"b"}`, `{"z":1,"name":"a","z":1}`,
		"\ufeff{\"name\":\"x\"}", "{\"name\":\"\xff\"}", "{\"name\":\"\xc0\xaf\"}", "{\"name\":\"\xed\xa0\x80\"}", "{\"name\":\"\xf4\x90\x80\x80\"}", "{\"z\":\"\xe2\x82\",\"name\":\"x\"}",
		``, " \t\r\n", `{`, `}`, `{"name":"x"]`, `{"name":"x"`, `{"name":"x`, `{"name":"x\"}`, `{"name":"x"}}`, `{"name":"x"} {}`, "{\"name\":\"x\"}\x00", `{"name":"x",}`, `{,"name":"x"}`,
		`{"a":1,,"name":"x"}`, `{"a":1 "name":"x"}`, `{"name","x"}`, `{"name"::"x"}`, `{"name":}`, `{name:"x"}`, `{'name':"x"}`, `{1:1,"name":"x"}`, "{\"name\":\"x\"} // x", `{/* x */"name":"x"}`,
		"{\"name\":\"a\tb\"}", `{"name":"\x41"}`, `{"name":"\u041"}`, `{"name":"\u{41}"}`, "{\u00a0\"name\":\"x\"}", "\f{\"name\":\"x\"}", `{“name”:“x”}`, `{"name":5,"z":tru}`,
		`[{"name":"x"}]`, ` "name" `, `-0.5e-7`, `null`, `[] x`, `[{"a":1,"a":2}]`, `{}`, `{"category":{"name":"x"}}`, `{"name ":"x"}`, `{"name":true}`, `{"description":1}`, `{"name":"\u0085x"}`, `{"name":"\u2003\u00a0"}`,
		`{"name":"` + strings.Repeat("🐕", 1000) + `"}`, `{"name":"` + strings.Repeat("x", 1001) + `"}`, `{"name":"n","description":"` + strings.Repeat("x", 10_001) + `"}`, `{"name":"n","z":"` + strings.Repeat("x", 1<<20) + `"}`,
	}
	for _, value := range []string{ // beside a good name
		`[null,true,{},[{}]]`, `[0,-0,-1.25,1e+1,1.5E-10,1e999]`, strings.Repeat("7", 5_000), `[{"a":1},{"a":{"a":3}}]`, `{"name":5}`, `[[{"a":[{"b":1,"c":2,"b":3}]}]]`, `"\ud800"`,
		strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999), `[1,]`, `01`, `+1`, `-`, `.5`, `1.`, `1e`, `0x1F`, `1_000`, `NaN`, `-Infinity`, `True`, `nul`, `undefined`, `١`,
	} {
		all = append(all, `{"z":`+value+`,"name":"dog"}`)
	}
	return all
}

// FuzzDecodeBody: a body makes a category exactly when a second opinion agrees,
// and then that very category; otherwise the answer is the documented refusal
// that the second opinion names, and nothing is created.
func FuzzDecodeBody(f *testing.F) {
	for _, body := range bodies() {
		f.Add([]byte(body))
	}
	p := newInProcess(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		p.created = nil
		a := p.do(t, "POST", "/v1/categories", body, http.Header{
			"Authorization": {"Bearer " + p.key.Secret.Reveal()}, "Content-Type": {"application/json"},
		})
		code, name, description := opinion(body)
		if code != "" {
			status := http.StatusBadRequest
			if code == petcat.CodeBodyTooLarge {
				status = http.StatusRequestEntityTooLarge
			}
			wantError(t, a, status, code)
			if len(p.created) > 0 {
				t.Fatalf("refused, and created all the same: %q", body)
			}
			return
		}
		wantStatus(t, a, http.StatusCreated)
		if len(p.created) != 1 {
			t.Fatalf("%d categories were created", len(p.created))
		}
		got, told := p.created[0].As(1), struct {
			ID          petcat.CategoryID
			Name        string
			Description *string
		}{}
		must(t, json.Unmarshal(a.body, &told))
		for what, c := range map[string]petcat.Category{"created": got, "told": petcat.Category(told)} {
			if c.ID != 1 || c.Name != *name || (c.Description == nil) != (description == nil) || description != nil && *c.Description != *description {
				t.Fatalf("%s: %+v, sent %q", what, c, body)
			}
		}
	})
}

// FuzzAuthorization: only the exact key, behind the scheme in any case and at
// least one space, opens the list; anything else is a 401 whose text is one of a
// few fixed ones, so that nothing of a credential can be in it.
func FuzzAuthorization(f *testing.F) {
	p := newInProcess(f)
	key := p.key.Secret.Reveal()
	unknown, err := petcat.GenerateKey(petcat.Production, rand.NewChaCha8([32]byte{2}))
	must(f, err)
	staging, err := petcat.GenerateKey(petcat.Staging, rand.NewChaCha8([32]byte{1}))
	must(f, err)
	list := func(t testing.TB, value string) *answer {
		t.Helper()
		return p.do(t, "GET", "/v1/categories", nil, http.Header{"Authorization": {value}})
	}
	fixed := map[string]bool{}
	for _, value := range []string{
		"", "Bearer", "Bearer ", "Basic YTpi", "Bearer x", "Bearer " + unknown.Secret.Reveal(), "Bearer " + staging.Secret.Reveal(),
		"Bearer" + key, "Bearer " + key[:46], "Bearer " + key + "0", "Bearer\t" + key,
	} {
		f.Add(value)
		fixed[string(list(f, value).body)] = true
	}
	f.Add("bEARER  " + key + " ")
	// Fuzzers do not guess keys: this stands for the right one.
	f.Add("Bearer KEY")
	f.Add("bearer  KEY  ")
	f.Add("Bearer KEY, Bearer KEY")
	f.Add("Bearer KEY\x00")
	opens := regexp.MustCompile(`\A[bB][eE][aA][rR][eE][rR] +` + key + ` *\z`)
	f.Fuzz(func(t *testing.T, value string) {
		value = strings.ReplaceAll(value, "KEY", key)
		a := list(t, value)
		if opens.MatchString(value) {
			wantStatus(t, a, http.StatusOK)
			return
		}
		wantStatus(t, a, http.StatusUnauthorized)
		if !fixed[string(a.body)] {
			t.Errorf("the answer to %q is none of the fixed ones: %s", value, a.body)
		}
		if challenge := a.Header.Get("WWW-Authenticate"); challenge != challengePlain && challenge != challengeError {
			t.Errorf("challenge %q", challenge)
		}
	})
}

package httpapi_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/httpapi"
)

// malformed are bodies that are invalid JSON (RFC 8259), or JSON that parsers interpret differently.
func malformed() []string {
	all := []string{
		``, " \t\r\n", `{`, `}`, `{"name":"x"]`, `{"name":"x"`, `{"name":"x`, `{"name":"x\"}`, `{"name":"x"}}`,
		`{"name":"x"} {}`, "{\"name\":\"x\"}\x00", `{"name":"x",}`, `{,"name":"x"}`, `{"a":1,,"name":"x"}`,
		`{"a":1 "name":"x"}`, `{"name","x"}`, `{"name"::"x"}`, `{"name":}`, `{name:"x"}`, `{'name':"x"}`,
		`{1:1,"name":"x"}`, "{\"name\":\"x\"} // x", `{/* x */"name":"x"}`, "{\"name\":\"a\tb\"}", `{"name":"\x41"}`,
		`{"name":"\u041"}`, `{"name":"\u{41}"}`, "{\u00a0\"name\":\"x\"}", "\f{\"name\":\"x\"}", `{“name”:“x”}`,
		`{"name":5,"z":tru}`, `[] x`, `name=x`,
		// Duplicate members, half surrogate pairs and invalid UTF-8.
		`{"name":"a","nam\u0065":"b"}`, `{"z":1,"name":"a","z":1}`, `[{"a":1,"a":2}]`, `{"name":"\ud83d"}`,
		`{"name":"\udc15\ud83d"}`, `{"name":"\ud83d\u0041"}`, `{"\ud800":1,"name":"x"}`, "\ufeff{\"name\":\"x\"}",
		"{\"name\":\"\xff\"}", "{\"name\":\"\xc0\xaf\"}", "{\"name\":\"\xed\xa0\x80\"}",
		"{\"name\":\"\xf4\x90\x80\x80\"}", "{\"z\":\"\xe2\x82\",\"name\":\"x\"}",
	}
	for _, value := range []string{
		`[1,]`, `01`, `+1`, `-`, `.5`, `1.`, `1e`, `0x1F`, `1_000`, `NaN`, `-Infinity`, `True`, `nul`, `undefined`, `١`,
		`[[{"a":[{"b":1,"c":2,"b":3}]}]]`, `"\ud800"`,
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	} {
		all = append(all, `{"z":`+value+`,"name":"dog"}`)
	}
	return all
}

func TestMalformedJSON(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	for _, body := range malformed() {
		if a := s.create(body, withKey(key)); a.StatusCode != 400 || a.code(t) != petcat.CodeMalformedJSON {
			t.Errorf("%.60q: %d %.200s", body, a.StatusCode, a.body)
		}
	}
	if list := s.list(withKey(key)); string(list.body) != "[]" {
		t.Errorf("list: %s", list.body)
	}
}

// TestUnusualJSON: valid JSON is accepted, and names are stored as sent.
func TestUnusualJSON(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	const manyKinds = `[0,-0,-1.25,1e+1,1E-10,1e999,null,true,{},[{"a":1},{"a":2}]]`
	manyDigits, deep := strings.Repeat("7", 5_000), strings.Repeat("[", 9_999)+strings.Repeat("]", 9_999)
	for body, name := range map[string]string{
		"\r\n\t {\t\"name\"\r:\n\"x\" } \n":      `x`,
		`{"\u006eam\u0065":"a\"\\\/b"}`:          `a\"\\/b`,
		`{"name":"\uD83D\udc15"}`:                "🐕",
		`{"name":"\\u0041"}`:                     `\\u0041`,
		"{\"name\":\"\ufeffx\"}":                 "\ufeffx",
		`{"":1,"name":"x"}`:                      `x`,
		`{"Name":"a","NAME":"b","name":"c"}`:     `c`,
		`{"id":99999999999999999999,"name":"n"}`: `n`,
		`{"z":` + manyDigits + `,"name":"n"}`:    `n`,
		`{"z":` + deep + `,"name":"n"}`:          `n`,
		`{"z":` + manyKinds + `,"name":"n"}`:     `n`,
	} {
		a := s.create(body, withKey(key))
		if a.StatusCode != 201 || !strings.HasSuffix(string(a.body), `,"name":"`+name+`"}`) {
			t.Errorf("%.60q: %d %s", body, a.StatusCode, a.body)
		}
	}
}

// FuzzBody: every body is accepted or rejected, and none causes a server error.
func FuzzBody(f *testing.F) {
	f.Add(`{"name":"x","description":"\ud83d\udc15"}`)
	for _, body := range malformed() {
		f.Add(body)
	}
	s := start(f)
	key, _ := s.key(s.account("acme", petcat.Enterprise, petcat.MaxQuota, petcat.MaxQuota))
	f.Fuzz(func(t *testing.T, body string) {
		a := s.serve(t, "POST", "/v1/categories", key, strings.NewReader(body), int64(len(body)))
		if a.StatusCode != 201 && a.StatusCode != 400 && a.StatusCode != 413 {
			t.Errorf("%q: %d %s", body, a.StatusCode, a.body)
		}
	})
}

// reader is a body that a function reads.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func TestBodyTimeout(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Pro))
	late := reader(func([]byte) (int, error) { return 0, os.ErrDeadlineExceeded })
	wantError(t, s.serve(t, "POST", "/v1/categories", key, late, 100), 408, petcat.CodeRequestTimeout)
}

// TestHeadersAfterSlowBody: the headers show the state at the time of the response. The request
// arrives 18 s into a minute.
func TestHeadersAfterSlowBody(t *testing.T) {
	for after, want := range map[time.Duration]string{
		0:                `"minute";r=59;t=42, "day";r=999;t=43182`,
		6 * time.Second:  `"minute";r=59;t=36, "day";r=999;t=43176`,
		45 * time.Second: `"minute";r=60;t=57, "day";r=999;t=43137`,
	} {
		s := start(t)
		key, _ := s.key(s.account("acme", petcat.Free))
		body := strings.NewReader(`{"name":"dog"}`)
		slow := reader(func(p []byte) (int, error) {
			s.advance(after)
			after = 0
			return body.Read(p)
		})
		a := s.serve(t, "POST", "/v1/categories", key, slow, -1)
		if got := fmt.Sprint(a.Header); !strings.Contains(got, " RateLimit:["+want+"]") {
			t.Errorf("headers: %s, want RateLimit %s", got, want)
		}
	}
}

// TestResetAfterSlowBody: X-RateLimit-Reset is in the future even if the window of a rejection was reset
// while the rejected body arrived.
func TestResetAfterSlowBody(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 1, 1000))
	for key, status := range map[string]int{key: 429, "wrong": 401} {
		s.advance(time.Minute - time.Duration(s.clock.Read().Wall)%time.Minute)
		s.list(withKey(key))
		s.advance(59300 * time.Millisecond)
		a := s.serve(t, "POST", "/v1/categories", key, reader(func([]byte) (int, error) {
			s.clock.Advance(900 * time.Millisecond)
			return 0, io.EOF
		}), 10)
		wantStatus(t, a, status)
		want := fmt.Sprintf("X-RateLimit-Reset:[%d]", s.clock.Read().Time().Unix()+1)
		if got := fmt.Sprint(a.Header); !strings.Contains(got, want) {
			t.Errorf("%d: headers: %s, want %s", status, got, want)
		}
	}
}

// stall sends 100 KiB of a body, and returns when the server waits for the rest. end completes the body.
func (s *service) stall(t *testing.T, key string) (end func()) {
	t.Helper()
	waiting, ended, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	arrives := strings.NewReader(largeBody(100 << 10))
	go func() {
		defer close(done)
		s.serve(t, "POST", "/v1/categories", key, reader(func(p []byte) (int, error) {
			if n, err := arrives.Read(p); err == nil {
				return n, nil
			}
			waiting <- struct{}{}
			<-ended
			return 0, io.ErrUnexpectedEOF
		}), 110<<10)
	}()
	<-waiting
	return func() { close(ended); <-done }
}

// largeBody returns a body for a category with n additional bytes.
func largeBody(n int) string { return `{"name":"x","more":"` + strings.Repeat("y", n) + `"}` }

// createLarge creates a category with a body of n bytes.
func (s *service) createLarge(t *testing.T, key string, n int) *response {
	t.Helper()
	body := largeBody(n)
	return s.serve(t, "POST", "/v1/categories", key, strings.NewReader(body), int64(len(body)))
}

// wantNoMemory checks that a body was rejected because of the memory limit.
func wantNoMemory(t *testing.T, a *response) {
	t.Helper()
	wantError(t, a, 503, petcat.CodeServiceUnavailable)
	wantHeader(t, a, "Retry-After", "1")
}

// TestBodyMemoryOfAccount: an account may use an eighth of the memory for large bodies. Over that, its
// large bodies get 503. Its small bodies, and bodies of all other accounts, are accepted.
func TestBodyMemoryOfAccount(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.BodyBytes = 8 * 128 << 10 })
	key, _ := s.key(s.account("acme", petcat.Pro))
	var others []string
	for i := range 8 {
		other, _ := s.key(s.account(fmt.Sprint("other ", i), petcat.Pro))
		others = append(others, other)
	}
	wantNoMemory(t, s.createLarge(t, key, 150<<10)) // over the limit
	end := s.stall(t, key)
	wantNoMemory(t, s.createLarge(t, key, 50<<10))
	wantStatus(t, s.createLarge(t, key, 3<<10), 201)
	for _, other := range others {
		wantStatus(t, s.createLarge(t, other, 50<<10), 201)
	}
	end()
	wantStatus(t, s.createLarge(t, key, 50<<10), 201)
}

// TestBodyMemoryOfAll: the large bodies of all accounts share the memory for bodies.
func TestBodyMemoryOfAll(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.BodyBytes = 8 * 128 << 10 })
	var ends []func()
	for i := range 8 {
		key, _ := s.key(s.account(fmt.Sprint("acme ", i), petcat.Pro))
		ends = append(ends, s.stall(t, key))
	}
	other, _ := s.key(s.account("whiskers", petcat.Pro))
	wantNoMemory(t, s.createLarge(t, other, 100<<10))
	wantStatus(t, s.createLarge(t, other, 3<<10), 201)
	for _, end := range ends {
		end()
	}
	wantStatus(t, s.createLarge(t, other, 100<<10), 201)
}

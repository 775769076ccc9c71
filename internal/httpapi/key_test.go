package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/httpapi"
)

// rotated is the response to a rotation.
type rotated struct {
	ID            string   `json:"id"`
	Label         string   `json:"label"`
	ReadOnly      bool     `json:"read_only"`
	ExpiresAt     *int64   `json:"expires_at"`
	Networks      []string `json:"networks"`
	Key           string   `json:"key"`
	Replaces      string   `json:"replaces"`
	ReplacedUntil int64    `json:"replaced_until"`
}

func (s *service) rotate(body, key string, changes ...request) *response {
	s.t.Helper()
	return s.post("/v1/key/rotate", body, append(changes, withKey(key))...)
}

// rotated sends a rotation, which must succeed.
func (s *service) rotated(body, key string, changes ...request) (got rotated) {
	s.t.Helper()
	a := s.rotate(body, key, changes...)
	wantStatus(s.t, a, 201)
	must(s.t, json.Unmarshal(a.body, &got))
	return got
}

// use records the use of a key, as the flush of the usage does.
func (s *service) use(id petcat.KeyID) {
	s.t.Helper()
	now := s.clock.Read().Time()
	must(s.t, s.store.AddUsage(s.t.Context(), petcat.UsageBatch{
		Node:   "a",
		Number: now.UnixNano(),
		SeenAt: now,
		Keys:   []petcat.KeyUse{{Key: id, At: now}},
	}))
}

func TestGetKey(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Free)
	key, id := s.keyOn(account, petcat.KeyTerms{
		Label:     "ci",
		ReadOnly:  true,
		ExpiresAt: noon.Add(time.Hour),
		Networks:  "127.0.0.0/8 ::1/128",
	})
	a := s.do("GET", "/v1/key", nil, withKey(key))
	wantStatus(t, a, 200)
	want := fmt.Sprintf(`{"id":"%s","label":"ci","read_only":true,"expires_at":%d,"networks":["127.0.0.0/8","::1/128"]}`,
		id, noon.Add(time.Hour).Unix())
	if string(a.body) != want {
		t.Errorf("got %s, want %s", a.body, want)
	}
	wantHeadline(t, a, 60, 60, noon.Truncate(time.Minute).Add(time.Minute)) // it does not count
	end := noon.Add(5 * time.Minute)
	s.limiter.ApplyBan(petcat.Ban{
		Key:       id,
		Account:   account.ID,
		Level:     2,
		StartedAt: noon,
		EndsAt:    end,
	})
	wantStatus(t, s.do("GET", "/v1/key", nil, withKey(key)), 200)
	wantError(t, s.do("GET", "/v1/key", nil), 401, petcat.CodeMissingAPIKey)
}

func TestRotateOwnKey(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Free)
	old, id := s.keyOn(account, petcat.KeyTerms{Label: "ci", ExpiresAt: noon.Add(time.Hour), Networks: "127.0.0.0/8"})
	got := s.rotated(`{"overlap": "30m"}`, old)
	want := rotated{
		ID:            "key_2",
		Label:         "ci",
		ExpiresAt:     new(noon.Add(time.Hour).Unix()),
		Networks:      []string{"127.0.0.0/8"},
		Key:           got.Key,
		Replaces:      id.String(),
		ReplacedUntil: noon.Add(30 * time.Minute).Unix(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the response (-want +got)\n%s", diff)
	}
	for _, key := range []string{old, got.Key} {
		wantStatus(t, s.list(withKey(key)), 200)
	}
	s.advance(30 * time.Minute)
	wantError(t, s.list(withKey(old)), 401, petcat.CodeExpiredAPIKey)
	wantStatus(t, s.list(withKey(got.Key)), 200)
}

// TestOverlap: the overlap is optional, and has bounds.
func TestOverlap(t *testing.T) {
	for body, code := range map[string]petcat.Code{
		``:                       "",
		`{}`:                     "",
		`{"overlap": "5m"}`:      "",
		`{"overlap": "30d"}`:     "",
		`{"overlap": "299s"}`:    petcat.CodeInvalidField,
		`{"overlap": "0s"}`:      petcat.CodeInvalidField,
		`{"overlap": "30d1s"}`:   petcat.CodeInvalidField,
		`{"overlap": "soon"}`:    petcat.CodeInvalidField,
		`{"overlap": 3600}`:      petcat.CodeInvalidField,
		`{"overlap": "1h"`:       petcat.CodeMalformedJSON,
		`["1h"]`:                 petcat.CodeInvalidBody,
		`{"overlap": "1h"} more`: petcat.CodeMalformedJSON,
	} {
		t.Run(body, func(t *testing.T) {
			s := start(t)
			key, _ := s.key(s.account("acme", petcat.Free))
			a := s.rotate(body, key)
			if code == "" {
				wantStatus(t, a, 201)
				return
			}
			wantError(t, a, 400, code)
		})
	}
}

// TestLostRotation: a program whose rotation did not get a response is not locked out before its overlap
// ends, and programs do not lose a successor that they use. A repeated request with the successor reports
// that it was stored.
func TestLostRotation(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Free)
	old, _ := s.key(account)
	first := withHeader("Idempotency-Key", "first")
	lost := s.rotated(``, old, first) // its response does not arrive
	a := s.rotate(``, old, first)
	wantHeader(t, a, "Idempotent-Replayed", "true")
	var replay rotated
	must(t, json.Unmarshal(a.body, &replay))
	if replay.ID != lost.ID || replay.Key != "" {
		t.Errorf("the replay %+v, want %s without a secret", replay, lost.ID)
	}
	wantError(t, s.rotate(`{"overlap": "1h"}`, old, first), 422, petcat.CodeIdempotencyKeyReused)

	a = s.rotate(``, old)
	wantError(t, a, 409, petcat.CodeConflict)
	wantHeader(t, a, "Retry-After", "5")
	s.advance(5 * time.Second)
	second := withHeader("Idempotency-Key", "second")
	found := s.rotated(``, old, second)
	wantError(t, s.rotate(``, found.Key, second), 422, petcat.CodeIdempotencyKeyReused)
	wantError(t, s.list(withKey(lost.Key)), 401, petcat.CodeRevokedAPIKey)
	wantStatus(t, s.list(withKey(found.Key)), 200)

	s.use(3)
	s.advance(5 * time.Second)
	a = s.rotate(``, old)
	wantError(t, a, 409, petcat.CodeConflict)
	wantHeader(t, a, "Retry-After", "")
	wantStatus(t, s.list(withKey(found.Key)), 200)
	wantStatus(t, s.list(withKey(old)), 200)
}

// late is a store whose rotations take a second.
type late struct {
	httpapi.Store

	clock *clocktest.Manual
}

func (l late) RotateKey(
	ctx context.Context, by petcat.Author, r petcat.Rotation,
) (petcat.Result[petcat.RotatedKey], error) {
	defer l.clock.Advance(time.Second)
	return l.Store.RotateKey(ctx, by, r)
}

// TestTooManyRotations: rotations count to the changes that an account makes in a day. The headers show that
// limit, also if the request takes long, and revoking always works.
func TestTooManyRotations(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Store = late{o.Store, o.Clock.(*clocktest.Manual)} })
	account := s.account("acme", petcat.Free)
	key, id := s.key(account)
	for i := range petcat.MaxCustomerChanges {
		label := fmt.Sprint(i)
		edit, err := petcat.ParseKeyEdit(&label, nil, nil)
		must(t, err)
		_, err = s.store.EditKey(t.Context(), petcat.By(account.ID.Actor()), id, edit)
		must(t, err)
	}
	s.advance(500 * time.Millisecond)
	a := s.rotate(``, key)
	wantError(t, a, 429, petcat.CodeTooManyChanges)
	wantHeadline(t, a, 1_000, 0, noon.Add(24*time.Hour+time.Second))
	wantHeader(t, a, "Retry-After", "86400")
	wantHeader(t, a, "RateLimit-Policy", `"changes";q=1000;w=86400`)
	wantStatus(t, s.list(withKey(key)), 200)
	wantStatus(t, s.post("/v1/key/revoke", ``, withKey(key)), 200)
}

// TestOwnKeyReadOnly: a read-only key may rotate and revoke itself, and gets a read-only successor.
func TestOwnKeyReadOnly(t *testing.T) {
	s := start(t)
	old, _ := s.keyOn(s.account("acme", petcat.Free), petcat.KeyTerms{ReadOnly: true})
	successor := s.rotated(``, old)
	if !successor.ReadOnly {
		t.Error("the successor may write")
	}
	wantError(t, s.create(`{"name": "dog"}`, withKey(successor.Key)), 403, petcat.CodeForbidden)
	wantStatus(t, s.post("/v1/key/revoke", ``, withKey(old)), 200)
	wantStatus(t, s.list(withKey(successor.Key)), 200)
}

func TestRevokeOwnKey(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Free)
	key, id := s.key(account)
	other, _ := s.key(account)
	a := s.post("/v1/key/revoke", ``, withKey(key), withHeader("Idempotency-Key", "k"))
	wantStatus(t, a, 200)
	if want := `{"id":"key_1","label":"","read_only":false,"expires_at":null,"networks":[]}`; string(a.body) != want {
		t.Errorf("got %s, want %s", a.body, want)
	}
	wantError(t, s.post("/v1/key/revoke", ``, withKey(key), withHeader("Idempotency-Key", "k")), 401, petcat.CodeRevokedAPIKey)
	wantStatus(t, s.list(withKey(other)), 200)
	var authors []string
	must(t, s.store.EachAuditEntry(t.Context(), petcat.AuditQuery{Key: id}, func(e petcat.AuditEntry) error {
		authors = append(authors, string(e.Actor)+" "+e.Action)
		return nil
	}))
	if want := []string{"test key.create", "customer acct_1 key.revoke"}; !slices.Equal(authors, want) {
		t.Errorf("audit entries %q, want %q", authors, want)
	}
}

// from sends a request from an address, through a trusted proxy.
func from(address string) request { return withHeader("X-Forwarded-For", address) }

// TestNetworks: outside its networks, a key is rejected before the charge, and the attempt counts for the
// address.
func TestNetworks(t *testing.T) {
	s := start(t, func(o *httpapi.Options) {
		o.TrustedProxies = clientnet.NewProxies([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, o.Logger)
	})
	account := s.account("acme", petcat.Free)
	key, id := s.keyOn(account, petcat.KeyTerms{Networks: "192.0.2.0/24 2001:db8::/32"})
	minute := noon.Truncate(time.Minute).Add(time.Minute)
	a := s.list(withKey(key), from("203.0.113.9"))
	wantError(t, a, 403, petcat.CodeAddressNotAllowed)
	wantMessage(t, a, "203.0.113.9")
	wantHeadline(t, a, 600, 599, minute)
	wantHeader(t, a, "RateLimit-Policy", `"address";q=600;w=60`)
	wantHeader(t, a, "WWW-Authenticate", "")
	s.mu.Lock()
	r := s.records[0]
	s.mu.Unlock()
	if r.Account != account.ID || r.Key != id {
		t.Errorf("the record of the rejected request has the account %v and the key %v", r.Account, r.Key)
	}
	wantError(t, s.do("GET", "/v1/nothing", nil, withKey(key), from("203.0.113.9")), 403, petcat.CodeAddressNotAllowed)
	wantError(t, s.list(withKey(key)), 403, petcat.CodeAddressNotAllowed) // the proxy itself
	wantHeadline(t, s.list(withKey(key), from("192.0.2.7")), 60, 59, minute)
	wantHeadline(t, s.list(withKey(key), from("2001:db8::7")), 60, 58, minute)
	for range 598 {
		wantStatus(t, s.list(withKey(key), from("203.0.113.9")), 403)
	}
	wantError(t, s.list(withKey(key), from("203.0.113.9")), 429, petcat.CodeTooManyFailedAttempts)

	everywhere := petcat.Networks("")
	edit, err := petcat.ParseKeyEdit(nil, nil, &everywhere)
	must(t, err)
	_, err = s.store.EditKey(t.Context(), petcat.By("test"), id, edit)
	must(t, err)
	wantHeadline(t, s.list(withKey(key), from("203.0.113.9")), 60, 57, minute)
}

func (s *service) report(body string, changes ...request) *response {
	s.t.Helper()
	return s.post("/leaked-keys", body, changes...)
}

func reportOf(texts ...string) string {
	body, err := json.Marshal(map[string][]string{"texts": texts})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func TestLeakedKeys(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Free)
	leaked, id := s.key(account)
	other, _ := s.key(account)
	minute := noon.Truncate(time.Minute).Add(time.Minute)
	line := `12:03:04 GET /v1/categories authorization="Bearer ` + leaked + `" 200`
	a := s.report(reportOf("nothing", line, leaked))
	wantStatus(t, a, 202)
	wantHeadline(t, a, 600, 599, minute)
	if len(a.body) > 0 {
		t.Errorf("the body %s, want none", a.body)
	}
	a = s.list(withKey(leaked))
	wantError(t, a, 401, petcat.CodeDisabledAPIKey)
	if !bytes.Contains(a.body, []byte("reported as leaked")) {
		t.Errorf("the body %s, want why the key is disabled", a.body)
	}
	wantStatus(t, s.list(withKey(other)), 200)
	wantStatus(t, s.report(reportOf(leaked)), 202) // the same, whatever was found
	var entries []string
	must(t, s.store.EachAuditEntry(t.Context(), petcat.AuditQuery{Key: id}, func(e petcat.AuditEntry) error {
		entries = append(entries, string(e.Actor)+" "+e.Action)
		return nil
	}))
	if want := []string{"test key.create", "petcat key.report_leaked"}; !slices.Equal(entries, want) {
		t.Errorf("audit entries %q, want %q", entries, want)
	}
	key, err := s.store.FindKey(t.Context(), id)
	must(t, err)
	if !key.LeakedAt.Equal(noon) || key.State(noon) != petcat.KeyDisabled {
		t.Errorf("the key %+v, want it disabled and reported at %s", key, noon)
	}
}

func TestLeakedKeysBody(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Free))
	for body, code := range map[string]petcat.Code{
		``:                         petcat.CodeMalformedJSON,
		`{}`:                       petcat.CodeMissingField,
		`{"texts": []}`:            petcat.CodeMissingField,
		`{"texts": null}`:          petcat.CodeMissingField,
		`{"texts": "` + key + `"}`: petcat.CodeInvalidBody,
		`["` + key + `"]`:          petcat.CodeInvalidBody,
		`{"texts": ["` + key + `"], "source": "x"}`:    petcat.CodeInvalidField,
		`{"Texts": ["` + key + `"]}`:                   petcat.CodeInvalidField,
		`{"texts": ["` + key + `"]} more`:              petcat.CodeMalformedJSON,
		reportOf(key + strings.Repeat(" ", 1_000)):     petcat.CodeInvalidField,
		reportOf(slices.Repeat([]string{key}, 101)...): petcat.CodeInvalidField,
	} {
		a := s.report(body)
		wantError(t, a, 400, code)
		if strings.Contains(string(a.body), key) {
			t.Errorf("%.40s: the error repeats the key", body)
		}
	}
	a := s.do(http.MethodGet, "/leaked-keys", nil)
	wantError(t, a, 405, petcat.CodeMethodNotAllowed)
	wantHeader(t, a, "Allow", "POST")
	wantError(t, s.report(reportOf(key), withHeader("Content-Type", "text/plain")), 415, petcat.CodeUnsupportedMediaType)
	a = s.report(reportOf(key), withHeader("Idempotency-Key", "k"))
	wantError(t, a, 400, petcat.CodeInvalidField)
	wantMessage(t, a, "takes no Idempotency-Key; leave it out")
	wantStatus(t, s.list(withKey(key)), 200)
}

// noStore fails the test when a report reads or writes keys.
type noStore struct {
	httpapi.Store

	t testing.TB
}

// TestLeakedNoise: 10,000 random texts do not cause a query, not even well-formed keys that do not exist.
// Further reports of the address get 429.
func TestLeakedNoise(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Store = noStore{t: t} }) // any call panics
	generator := petcat.KeyGenerator{Environment: petcat.Production, Random: s.options.Keys.Random}
	_, unknown, err := generator.NewKey(1, petcat.KeyTerms{})
	must(t, err)
	mistyped := unknown.Reveal()[:len(unknown.Reveal())-1] + "!"
	texts := slices.Repeat([]string{"pck_live_0123456789ABCDEFGHIJKLMNOPQRSTUV000000"}, 98)
	report := reportOf(append(texts, mistyped, unknown.Reveal())...)
	for range 100 {
		wantStatus(t, s.report(report), 202)
	}
	for range 500 {
		wantStatus(t, s.report(`{"texts": ["x"]}`), 202)
	}
	wantError(t, s.report(`{"texts": ["x"]}`), 429, petcat.CodeTooManyFailedAttempts)
	unread := s.report(`{}`, withHeader("Content-Type", "text/plain")) // nor is a body read
	wantError(t, unread, 429, petcat.CodeTooManyFailedAttempts)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		if r.Code == petcat.CodeInternalError {
			t.Fatal("a report called the store")
		}
	}
}

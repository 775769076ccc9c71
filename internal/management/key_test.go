package management_test

import (
	"testing"
	"time"
)

// key is a key as the API shows it.
type key struct {
	ID        string
	Account   string
	Label     string
	Hint      string
	State     string
	ReadOnly  bool       `json:"read_only"`
	Networks  []string   // never null
	ExpiresAt *time.Time `json:"expires_at"`
	Successor string
	Key       string // the secret, only when it is created
}

// acme creates an account with a key of the given terms, key_1.
func (s *service) acme(terms string) key {
	s.t.Helper()
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	return decode[key](s.t, s.create("/accounts/acme/keys", terms))
}

func TestCreateKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	terms := `{"label":"backend","read_only":true,"expires_at":"2027-04-01T00:00:00Z","networks":["192.0.2.7/24"]}`
	a := s.create("/accounts/acme/keys", terms)
	created := decode[key](t, a)
	expiry := time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)
	want := key{
		ID:        "key_1",
		Account:   "acct_1",
		Label:     "backend",
		Hint:      created.Key[len(created.Key)-10 : len(created.Key)-6],
		State:     "active",
		ReadOnly:  true,
		Networks:  []string{"192.0.2.0/24"},
		ExpiresAt: &expiry,
		Key:       created.Key,
	}
	wantEqual(t, "the new key", want, created)
	wantEqual(t, "Location", "/admin/v1/keys/key_1", a.header.Get("Location"))
	want.Key = ""
	wantEqual(t, "the key", want, decode[key](t, s.get("/keys/key_1")))

	s.rejected(400, "invalid_field", "POST", "/accounts/acme/keys", `{"expires_at":"2027-01-01T00:00:00Z"}`)
	s.rejected(400, "invalid_field", "POST", "/accounts/acme/keys", `{"networks":["192.0.2.0/33"]}`)
	s.rejected(404, "not_found", "POST", "/accounts/zoo/keys", `{}`)
	s.rejected(404, "not_found", "GET", "/keys/key_2", "")
	for _, path := range []string{"/keys/key_01", "/keys/key_+1", "/keys/1"} {
		s.rejected(400, "invalid_field", "GET", path, "")
	}
}

func TestFindKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := s.acme(`{}`)
	s.create("/accounts/acme/keys", `{}`)
	leaked := s.post("/keys/find", `{"text":"found `+first.Key+` and `+s.token+` in a log"}`)
	found := decode[struct {
		Keys   []key
		Tokens []struct{ Name string }
	}](t, leaked)
	if len(found.Keys) != 1 || found.Keys[0].ID != "key_1" || len(found.Tokens) != 1 || found.Tokens[0].Name != "ci" {
		t.Errorf("by secret: %s", leaked.body)
	}
	wantEqual(t, "by hint", []string{"key_1"}, ids(t, s.get("/keys?hint="+first.Hint)))
	s.rejected(400, "missing_field", "POST", "/keys/find", `{}`)
	wantEqual(t, "all", []string{"key_2", "key_1"}, ids(t, s.get("/keys")))
	wantEqual(t, "a page", []string{"key_1"}, ids(t, s.get("/keys?limit=1&after=key_2")))
	for _, hint := range []string{"abc", ""} {
		s.rejected(400, "invalid_field", "GET", "/keys?hint="+hint, "")
	}
}

// TestListKeys: an account's keys are listed in pages, the newest first.
func TestListKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.create("/accounts/acme/keys", `{}`)
	first := s.get("/accounts/acme/keys?limit=1")
	wantEqual(t, "the first page", []string{"key_2"}, ids(t, first))
	next := `</admin/v1/accounts/acme/keys?after=key_2&limit=1>; rel="next"`
	wantEqual(t, "Link", next, first.header.Get("Link"))
	wantEqual(t, "the next page", []string{"key_1"}, ids(t, s.get("/accounts/acme/keys?limit=1&after=key_2")))
	last := s.get("/accounts/acme/keys?limit=1&after=key_1")
	wantEqual(t, "the last page", []string{}, ids(t, last))
	wantEqual(t, "Link of the last page", "", last.header.Get("Link"))
}

// TestEditKey: members that are not sent stay as they are, and an expiry of null means never.
func TestEditKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	want := s.acme(`{"label":"backend"}`)
	want.Key = ""
	expiry := time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)

	want.Label, want.ExpiresAt = "front", &expiry
	edited := s.patch("/keys/key_1", `{"label":"front","expires_at":"2027-04-01T00:00:00Z"}`)
	wantEqual(t, "label and expiry", want, decode[key](t, edited))
	wantEqual(t, "nothing", want, decode[key](t, s.patch("/keys/key_1", `{}`)))
	want.ExpiresAt = nil
	wantEqual(t, "no expiry", want, decode[key](t, s.patch("/keys/key_1", `{"expires_at":null}`)))
	want.Networks = []string{"192.0.2.0/24", "2001:db8::/32"}
	moved := s.patch("/keys/key_1", `{"networks":["192.0.2.0/24","2001:db8::/32"]}`)
	wantEqual(t, "networks", want, decode[key](t, moved))
	wantEqual(t, "nothing", want, decode[key](t, s.patch("/keys/key_1", `{}`)))
	want.Networks = []string{}
	wantEqual(t, "everywhere", want, decode[key](t, s.patch("/keys/key_1", `{"networks":[]}`)))
	s.rejected(400, "invalid_field", "PATCH", "/keys/key_1", `{"networks":["office"]}`)
	s.rejected(400, "invalid_field", "PATCH", "/keys/key_1", `{"networks":null}`)
	s.rejected(400, "invalid_field", "PATCH", "/keys/key_1", `{"expires_at":"soon"}`)
	s.rejected(400, "invalid_field", "PATCH", "/keys/1", `{}`)
}

func TestChangeStateOfKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	for _, c := range []struct{ action, want string }{
		{"disable", "disabled"},
		{"enable", "active"},
		{"revoke", "revoked"},
	} {
		changed := s.post("/keys/key_1/"+c.action, "")
		wantEqual(t, c.action, c.want, decode[key](t, changed).State)
	}
	s.rejected(409, "conflict", "POST", "/keys/key_1/enable", "")
	s.rejected(404, "not_found", "POST", "/keys/key_2/enable", "")
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	old := s.acme(`{"label":"backend","networks":["10.0.0.0/8"]}`)
	a := s.create("/keys/key_1/rotate", "") // with the default overlap
	got := decode[key](t, a)
	want := key{
		ID:       "key_2",
		Account:  "acct_1",
		Label:    "backend",
		Hint:     got.Hint,
		State:    "active",
		Networks: []string{"10.0.0.0/8"},
		Key:      got.Key,
	}
	wantEqual(t, "the successor", want, got)
	if got.Key == "" || got.Key == old.Key {
		t.Errorf("the secret of the successor is %q", got.Key)
	}
	wantEqual(t, "Location", "/admin/v1/keys/key_2", a.header.Get("Location"))
	end := noon.Add(24 * time.Hour)
	old.Key, old.Successor, old.ExpiresAt = "", "key_2", &end
	wantEqual(t, "the replaced key", old, decode[key](t, s.get("/keys/key_1")))
	for _, overlap := range []string{"721h", "-1h", "long"} {
		s.rejected(400, "invalid_field", "POST", "/keys/key_2/rotate", `{"overlap":"`+overlap+`"}`)
	}
}

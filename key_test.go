package petcat_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// checksum is a second implementation of a key's checksum: CRC-32 bit by bit,
// written in base62.
func checksum(body string) string {
	crc := ^uint32(0)
	for _, b := range []byte(body) {
		crc ^= uint32(b)
		for range 8 {
			lowest := crc & 1
			crc >>= 1
			if lowest == 1 {
				crc ^= 0xedb88320
			}
		}
	}
	crc = ^crc
	text := ""
	for range 6 {
		text = string(alphabet[crc%62]) + text
		crc /= 62
	}
	return text
}

func TestGenerateKey(t *testing.T) {
	for env, form := range map[petcat.Environment]string{
		petcat.Production: `^pck_live_[0-9A-Za-z]{38}$`, petcat.Staging: `^pck_test_[0-9A-Za-z]{38}$`,
	} {
		t.Run(string(env), func(t *testing.T) {
			random := seeded(2)
			seen := map[string]bool{}
			for range 1000 {
				g, err := petcat.GenerateKey(env, random)
				if err != nil {
					t.Fatal(err)
				}
				text := g.Secret.Reveal()
				if !regexp.MustCompile(form).MatchString(text) || seen[text] {
					t.Fatalf("the key %s has a wrong format, or is a duplicate", text)
				}
				seen[text] = true
				if body := text[:len(text)-6]; checksum(body) != text[len(body):] {
					t.Fatalf("%s does not end with the checksum %s", text, checksum(body))
				}
				if g.Hint != text[37:41] {
					t.Fatalf("the hint of %s is %s", text, g.Hint)
				}
				hash, err := petcat.ParseKey(env, text)
				if err != nil || hash != g.Hash || hash != sha256.Sum256([]byte(text)) {
					t.Fatalf("parsing %s: %v", text, err)
				}
			}
		})
	}
}

// TestParseKeyFindsTypos changes each character, and swaps each pair of neighbours.
func TestParseKeyFindsTypos(t *testing.T) {
	good := generated(t, petcat.Production).Secret.Reveal()
	refused := func(typo string) {
		t.Helper()
		if typo == good {
			return
		}
		if _, err := petcat.ParseKey(petcat.Production, typo); err == nil {
			t.Errorf("the typo %s of %s is accepted", typo, good)
		}
	}
	for i := range len(good) {
		for c := range 256 {
			refused(good[:i] + string([]byte{byte(c)}) + good[i+1:])
		}
		if i > 0 {
			refused(good[:i-1] + good[i:i+1] + good[i-1:i] + good[i+1:])
		}
	}
}

// FuzzParseKey compares ParseKey with a second implementation of the format, and checks that
// errors have one of three fixed texts, so that none repeats the credential.
func FuzzParseKey(f *testing.F) {
	for _, env := range []petcat.Environment{petcat.Production, petcat.Staging} {
		good := generated(f, env).Secret.Reveal()
		f.Add(good)
		f.Add(good[:46])
		f.Add(good[:41] + "000000")
		f.Add(strings.ToUpper(good))
	}
	good := generated(f, petcat.Production).Secret.Reveal()
	for _, s := range []string{
		"", "pck_live_", good + "0", good + good, " " + good, good + " ", good + "\n", `"` + good + `"`, "PCK_LIVE_" + good[9:], strings.ToLower(good), good[9:],
		"pck_prod_" + good[9:41] + checksum("pck_prod_"+good[9:41]), strings.Repeat(" ", 47), strings.Repeat("x", 256), strings.Repeat("x", 1<<20),
	} {
		f.Add(s)
	}
	f.Add(strings.Repeat("é", 200))
	spaced := "pck_live_ " + strings.Repeat("a", 31)
	f.Add(spaced + checksum(spaced))
	form := regexp.MustCompile(`^pck_(live|test)_[0-9A-Za-z]{38}$`)
	messages := map[string]bool{
		"the API key is not valid; send the whole key, as it was shown when it was created": true,
		"this is a key of the staging environment; this is production":                      true,
		"this is a key of the production environment; this is staging":                      true,
	}
	f.Fuzz(func(t *testing.T, credential string) {
		for env, prefix := range map[petcat.Environment]string{petcat.Production: "pck_live_", petcat.Staging: "pck_test_"} {
			want := form.MatchString(credential) && strings.HasPrefix(credential, prefix) && checksum(credential[:41]) == credential[41:]
			hash, err := petcat.ParseKey(env, credential)
			if want != (err == nil) {
				t.Fatalf("%s: %q: accepted %v, want %v", env, credential, err == nil, want)
			}
			if err == nil {
				if hash != sha256.Sum256([]byte(credential)) {
					t.Errorf("wrong hash of %q", credential)
				}
				continue
			}
			wantCode(t, err, petcat.CodeInvalidAPIKey)
			if message := petcat.Public(err).Message; !messages[message] || errors.Unwrap(err) != nil {
				t.Errorf("ParseKey(%q): error %q", credential, err)
			}
		}
	})
}

func TestKeyState(t *testing.T) {
	past := noon.Add(-time.Hour)
	for _, c := range []struct {
		name string
		key  petcat.Key
		want petcat.KeyState
		code petcat.Code
	}{
		{"new", petcat.Key{}, petcat.KeyActive, ""},
		{"expires soon", petcat.Key{ExpiresAt: noon.Add(1)}, petcat.KeyActive, ""},
		{"expires now", petcat.Key{ExpiresAt: noon}, petcat.KeyExpired, petcat.CodeExpiredAPIKey},
		{"disabled", petcat.Key{DisabledAt: past}, petcat.KeyDisabled, petcat.CodeDisabledAPIKey},
		{"disabled and expired", petcat.Key{DisabledAt: past, ExpiresAt: past}, petcat.KeyExpired, petcat.CodeExpiredAPIKey},
		{"revoked", petcat.Key{RevokedAt: past}, petcat.KeyRevoked, petcat.CodeRevokedAPIKey},
		{"revoked, disabled and expired", petcat.Key{RevokedAt: past, DisabledAt: past, ExpiresAt: past}, petcat.KeyRevoked, petcat.CodeRevokedAPIKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.key.State(noon); got != c.want {
				t.Errorf("state %s, want %s", got, c.want)
			}
			wantCode(t, c.want.Err(), c.code)
		})
	}
}

func TestKeyAction(t *testing.T) {
	before := noon.Add(-time.Hour)
	for _, c := range []struct {
		name   string
		action petcat.KeyAction
		key    petcat.Key
		want   petcat.Key
		code   petcat.Code
	}{
		{"disable", petcat.DisableKey, petcat.Key{ID: 1}, petcat.Key{ID: 1, DisabledAt: noon}, ""},
		{"disable again", petcat.DisableKey, petcat.Key{DisabledAt: before}, petcat.Key{DisabledAt: before}, ""},
		{"enable", petcat.EnableKey, petcat.Key{DisabledAt: before}, petcat.Key{}, ""},
		{"revoke", petcat.RevokeKey, petcat.Key{DisabledAt: before}, petcat.Key{DisabledAt: before, RevokedAt: noon}, ""},
		{"revoke again", petcat.RevokeKey, petcat.Key{RevokedAt: before}, petcat.Key{RevokedAt: before}, ""},
		{"enable a revoked key", petcat.EnableKey, petcat.Key{RevokedAt: before}, petcat.Key{}, petcat.CodeInvalidField},
		{"disable a revoked key", petcat.DisableKey, petcat.Key{RevokedAt: before}, petcat.Key{}, petcat.CodeInvalidField},
		{
			"enable a replaced key, which stays expired", petcat.EnableKey, petcat.Key{DisabledAt: before, ExpiresAt: before, Successor: 2},
			petcat.Key{ExpiresAt: before, Successor: 2}, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.action.Apply(c.key, noon)
			wantCode(t, err, c.code)
			if got != c.want {
				t.Errorf("key %+v, want %+v", got, c.want)
			}
		})
	}
}

func keyEdit(t *testing.T, label *string, expiresAt *time.Time) petcat.KeyEdit {
	t.Helper()
	e, err := petcat.ParseKeyEdit(label, expiresAt, noon)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestKeyEdit: no edit revives a key that is revoked, or replaced and past its overlap. Within the
// overlap, the expiry is only brought forward. Only operators extend an expired key.
func TestKeyEdit(t *testing.T) {
	const customer, operator = petcat.Actor("customer acct_7"), petcat.Actor("operator ada")
	past, soon, later, never := noon.Add(-time.Hour), noon.Add(time.Hour), noon.Add(2*time.Hour), time.Time{}
	live := petcat.Key{ID: 1, ExpiresAt: later}
	expired := petcat.Key{ID: 1, ExpiresAt: past}
	overlapping := petcat.Key{ID: 1, ExpiresAt: soon, Successor: 2}
	replaced := petcat.Key{ID: 1, ExpiresAt: past, Successor: 2}
	revoked := petcat.Key{ID: 1, RevokedAt: past}
	for _, c := range []struct {
		name      string
		key       petcat.Key
		expiresAt time.Time
		operator  bool // may make this change
		customer  bool
	}{
		{"a key expires earlier", live, soon, true, true},
		{"a key expires later", live, later.Add(time.Hour), true, true},
		{"a key never expires", live, never, true, true},
		{"a disabled key expires later", petcat.Key{ID: 1, DisabledAt: past, ExpiresAt: soon}, later, true, true},
		{"an expired key is extended", expired, soon, true, false},
		{"an expired key gets no expiry", expired, never, true, false},
		{"an expired and disabled key is extended", petcat.Key{ID: 1, DisabledAt: past, ExpiresAt: past}, soon, true, false},
		{"the overlap is shortened", overlapping, soon.Add(-time.Minute), true, true},
		{"the overlap is unchanged", overlapping, soon, true, true},
		{"the overlap is extended", overlapping, later, false, false},
		{"the overlap never ends", overlapping, never, false, false},
		{"a replaced key is revived", replaced, soon, false, false},
		{"a replaced key gets no expiry", replaced, never, false, false},
		{"a disabled and replaced key is revived", petcat.Key{ID: 1, DisabledAt: past, ExpiresAt: past, Successor: 2}, soon, false, false},
		{"a revoked key is edited", revoked, soon, false, false},
		{"a revoked key is unchanged", revoked, never, false, false},
		{"a revoked and replaced key is revived", petcat.Key{ID: 1, RevokedAt: past, ExpiresAt: past, Successor: 2}, never, false, false},
	} {
		c.key.Account = 7
		edit := keyEdit(t, nil, &c.expiresAt)
		for by, allowed := range map[petcat.Actor]bool{operator: c.operator, customer: c.customer} {
			t.Run(c.name+" by "+string(by), func(t *testing.T) {
				want, code := c.key, petcat.CodeInvalidField
				want.ExpiresAt = c.expiresAt
				if allowed {
					code = ""
				} else {
					want = petcat.Key{}
				}
				got, err := edit.Apply(c.key, by, noon)
				wantCode(t, err, code)
				if got != want {
					t.Errorf("the key %+v, want %+v", got, want)
				}
			})
		}
	}
}

// TestKeyEditLabel: the label changes in every state but revoked, and the expiry stays.
func TestKeyEditLabel(t *testing.T) {
	past, label := noon.Add(-time.Hour), "backend"
	edit := keyEdit(t, &label, nil)
	for name, k := range map[string]petcat.Key{
		"active":      {},
		"disabled":    {DisabledAt: past},
		"expired":     {ExpiresAt: past},
		"overlapping": {ExpiresAt: noon.Add(time.Hour), Successor: 2},
		"replaced":    {ExpiresAt: past, Successor: 2},
	} {
		want := k
		want.Label = label
		if got, err := edit.Apply(k, "customer acct_7", noon); err != nil || got != want {
			t.Errorf("%s: the key %+v, want %+v; %v", name, got, want, err)
		}
	}
	_, err := edit.Apply(petcat.Key{RevokedAt: past}, "operator ada", noon)
	wantCode(t, err, petcat.CodeInvalidField)
	long := strings.Repeat("é", 201)
	_, err = petcat.ParseKeyEdit(&long, nil, noon)
	wantCode(t, err, petcat.CodeInvalidField)
	_, err = petcat.ParseKeyEdit(nil, &noon, noon)
	wantCode(t, err, petcat.CodeInvalidField)
}

func TestRotation(t *testing.T) {
	const day = 24 * time.Hour
	generator := petcat.KeyGenerator{Environment: petcat.Production, Random: seeded(1)}
	created := noon.Add(-10 * day)
	end := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, c := range []struct {
		name           string
		overlap        time.Duration
		old            petcat.Key
		oldEnd, newEnd time.Time
		code           petcat.Code
	}{
		{"no overlap", 0, petcat.Key{}, noon, time.Time{}, ""},
		{"overlap", day, petcat.Key{}, noon.Add(day), time.Time{}, ""},
		{"same lifetime", day, petcat.Key{CreatedAt: created, ExpiresAt: created.Add(90 * day)}, noon.Add(day), noon.Add(90 * day), ""},
		{"old key expires within the overlap", 30 * day, petcat.Key{CreatedAt: created, ExpiresAt: noon.Add(day)}, noon.Add(day), noon.Add(11 * day), ""},
		{"read-only", 0, petcat.Key{ReadOnly: true}, noon, time.Time{}, ""},
		{"expiry in the year 9999", 0, petcat.Key{CreatedAt: created, ExpiresAt: end}, noon, end, ""},
		{"revoked", 0, petcat.Key{RevokedAt: created}, time.Time{}, time.Time{}, petcat.CodeInvalidField},
		{"disabled", 0, petcat.Key{DisabledAt: created}, time.Time{}, time.Time{}, petcat.CodeInvalidField},
		{"expired", 0, petcat.Key{ExpiresAt: noon}, time.Time{}, time.Time{}, petcat.CodeInvalidField},
		{"rotated already", 0, petcat.Key{Successor: 3}, time.Time{}, time.Time{}, petcat.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _, err := generator.Rotation(1, c.overlap)
			if err != nil {
				t.Fatal(err)
			}
			old := c.old
			old.ID, old.Account, old.Label = 1, 2, "label"
			oldAfter, successor, err := r.Apply(old, noon)
			wantCode(t, err, c.code)
			if err != nil {
				return
			}
			old.ExpiresAt = c.oldEnd
			want := petcat.Key{Account: 2, Label: "label", Hint: r.Generated().Hint, ReadOnly: c.old.ReadOnly, CreatedAt: noon, ExpiresAt: c.newEnd}
			if diff := cmp.Diff([]petcat.Key{old, want}, []petcat.Key{oldAfter, successor}); diff != "" {
				t.Errorf("old and new key (-want +got)\n%s", diff)
			}
		})
	}
	for _, overlap := range []time.Duration{-1, 30*day + 1} {
		_, _, err := generator.Rotation(1, overlap)
		wantCode(t, err, petcat.CodeInvalidField)
	}
}

func TestNewKey(t *testing.T) {
	generator := petcat.KeyGenerator{Environment: petcat.Production, Random: seeded(1)}
	for _, c := range []struct {
		name  string
		terms petcat.KeyTerms
		code  petcat.Code
	}{
		{"never expires, no label", petcat.KeyTerms{}, ""},
		{"read-only", petcat.KeyTerms{ReadOnly: true}, ""},
		{"longest label", petcat.KeyTerms{Label: strings.Repeat("é", 200), ExpiresAt: noon.Add(1)}, ""},
		{"label too long", petcat.KeyTerms{Label: strings.Repeat("é", 201)}, petcat.CodeInvalidField},
		{"label with a line break", petcat.KeyTerms{Label: "a\nb"}, petcat.CodeInvalidField},
		{"expires now", petcat.KeyTerms{ExpiresAt: noon}, petcat.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, secret, err := generator.NewKey(5, c.terms, noon)
			wantCode(t, err, c.code)
			if err != nil {
				return
			}
			if k.Account() != 5 || k.Terms() != c.terms || k.Generated().Hash != petcat.HashKey(secret.Reveal()) {
				t.Errorf("%d %+v", k.Account(), k.Terms())
			}
		})
	}
}

func TestKeysIn(t *testing.T) {
	random := seeded(3)
	made := func(env petcat.Environment) string {
		g, err := petcat.GenerateKey(env, random)
		if err != nil {
			t.Fatal(err)
		}
		return g.Secret.Reveal()
	}
	live, live2, test := made(petcat.Production), made(petcat.Production), made(petcat.Staging)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"no key", "no key", nil},
		{"in a log line", `{"authorization":"Bearer ` + live + `"}`, []string{live}},
		{"in the order of the text, each once", test + " " + live2 + "\n" + live + "," + test, []string{test, live2, live}},
		{"adjacent keys", live + live2, []string{live, live2}},
		{"prefix before a key", "pck_live_" + live, []string{live}},
		{"truncated", live[:len(live)-1], nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range petcat.KeysIn(c.text) {
				got = append(got, s.Reveal())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeyHashesIn(t *testing.T) {
	live, test := generated(t, petcat.Production), generated(t, petcat.Staging)
	valid, other := live.Secret.Reveal(), test.Secret.Reveal()
	typo := valid[:len(valid)-6] + "000000"
	for _, c := range []struct {
		name, text string
		want       []petcat.KeyHash
		rejected   string // a part of the message
	}{
		{"no key", "no key", nil, ""},
		{"a key, twice", valid + " " + valid, []petcat.KeyHash{live.Hash}, ""},
		{"a typo", typo, nil, "the API key is not valid"},
		{"another environment, after a typo", valid + typo + other, []petcat.KeyHash{live.Hash}, "of the staging environment"},
	} {
		hashes, rejected := petcat.KeyHashesIn(petcat.Production, c.text)
		if !slices.Equal(hashes, c.want) {
			t.Errorf("%s: the hashes %x, want %x", c.name, hashes, c.want)
		}
		if (rejected != nil) != (c.rejected != "") || rejected != nil && !strings.Contains(rejected.Message, c.rejected) {
			t.Errorf("%s: rejected %v, want %q", c.name, rejected, c.rejected)
		}
	}
}

// planted is the secret text.
const planted = "the-planted-text"

// holder has a secret where package fmt cannot call its methods.
type holder struct {
	Shown  petcat.Secret
	hidden petcat.Secret
	deep   map[string][]petcat.Secret
}

func newHolder() holder {
	s := petcat.NewSecret(planted)
	return holder{Shown: s, hidden: s, deep: map[string][]petcat.Secret{"k": {s}}}
}

func TestSecretShowsNothing(t *testing.T) {
	s, h := petcat.NewSecret(planted), newHolder()
	values := map[string]any{
		"secret": s, "pointer": &s, "slice": []petcat.Secret{s}, "map": map[string]petcat.Secret{"k": s},
		"holder": h, "pointer to holder": &h, "slice of holders": []holder{h},
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			for _, verb := range "vsqxXdbcoOUeEfFgGtTp" {
				for _, flags := range []string{"%", "%+", "%#", "%-40", "%080", "% "} {
					format := flags + string(verb)
					hidesPlanted(t, format, fmt.Sprintf(format, value))
				}
			}
			hidesPlanted(t, "Sprint", fmt.Sprint(value))
			hidesPlanted(t, "Errorf", fmt.Errorf("failed with %v", value).Error())

			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			hidesPlanted(t, "json", string(encoded))

			var log, page bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Info("m", "k", value, slog.Group("g", "k", value))
			slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "k", value, slog.Group("g", "k", value))
			hidesPlanted(t, "slog", log.String())
			if err := template.Must(template.New("").Parse("{{.}}")).Execute(&page, value); err != nil {
				t.Fatal(err)
			}
			hidesPlanted(t, "template", page.String())
		})
	}
}

// hidesPlanted checks that an output does not contain the planted text, in plain or hexadecimal
// form.
func hidesPlanted(t *testing.T, how, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for _, form := range []string{planted, fmt.Sprintf("%x", planted), fmt.Sprintf("% x", planted), strings.Trim(fmt.Sprintf("%d", []byte(planted)), "[]")} {
		if strings.Contains(lower, form) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
}

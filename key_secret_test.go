package petcat_test

import (
	"crypto/sha256"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
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

// TestParseKeyFindsTypos changes each character, and swaps each pair of neighbors.
func TestParseKeyFindsTypos(t *testing.T) {
	good := generated(t, petcat.Production).Secret.Reveal()
	rejected := func(typo string) {
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
			rejected(good[:i] + string([]byte{byte(c)}) + good[i+1:])
		}
		if i > 0 {
			rejected(good[:i-1] + good[i:i+1] + good[i-1:i] + good[i+1:])
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
		"", "pck_live_", good + "0", good + good, " " + good, good + " ", good + "\n", `"` + good + `"`,
		"PCK_LIVE_" + good[9:], strings.ToLower(good), good[9:],
		"pck_prod_" + good[9:41] + checksum("pck_prod_"+good[9:41]), strings.Repeat(" ", 47), strings.Repeat("x", 256),
		strings.Repeat("x", 1<<20),
	} {
		f.Add(s)
	}
	f.Add(strings.Repeat("é", 200))
	spaced := "pck_live_ " + strings.Repeat("a", 31)
	f.Add(spaced + checksum(spaced))
	form := regexp.MustCompile(`^pck_(live|test)_[0-9A-Za-z]{38}$`)
	messages := map[string]bool{
		"the API key is not valid; send the complete key, as it was shown when it was created": true,
		"this is a key of the staging environment; this is production":                         true,
		"this is a key of the production environment; this is staging":                         true,
	}
	f.Fuzz(func(t *testing.T, credential string) {
		for env, prefix := range map[petcat.Environment]string{
			petcat.Production: "pck_live_", petcat.Staging: "pck_test_",
		} {
			want := form.MatchString(credential) && strings.HasPrefix(credential, prefix) &&
				checksum(credential[:41]) == credential[41:]
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

func TestSecretsIn(t *testing.T) {
	random := seeded(3)
	made := func(env petcat.Environment) string {
		g, err := petcat.GenerateKey(env, random)
		if err != nil {
			t.Fatal(err)
		}
		return g.Secret.Reveal()
	}
	live, live2, test := made(petcat.Production), made(petcat.Production), made(petcat.Staging)
	token := generatedToken(t).Secret.Reveal()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"no key", "no key", nil},
		{"in a log line", `{"authorization":"Bearer ` + live + `"}`, []string{live}},
		{
			"in the order of the text, each once", test + " " + live2 + "\n" + live + "," + test,
			[]string{test, live2, live},
		},
		{"adjacent keys", live + live2, []string{live, live2}},
		{"prefix before a key", "pck_live_" + live, []string{live}},
		{"a token of an operator", "Bearer " + token, []string{token}},
		{"truncated", live[:len(live)-1], nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range petcat.SecretsIn(c.text) {
				got = append(got, s.Reveal())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindLeaked(t *testing.T) {
	live, test := generated(t, petcat.Production), generated(t, petcat.Staging)
	valid, other := live.Secret.Reveal(), test.Secret.Reveal()
	typo := valid[:len(valid)-6] + "000000"
	token := generatedToken(t)
	for _, c := range []struct {
		name, text string
		want       []petcat.KeyHash
		rejected   string // a part of the message
	}{
		{"no key", "no key", nil, ""},
		{"a key, twice", valid + " " + valid, []petcat.KeyHash{live.Hash}, ""},
		{"a typo", typo, nil, "the API key is not valid"},
		{
			"another environment, after a typo", valid + typo + other, []petcat.KeyHash{live.Hash},
			"of the staging environment",
		},
	} {
		found := petcat.FindLeaked(petcat.Production, c.text+" "+token.Secret.Reveal())
		if !slices.Equal(found.Keys, c.want) {
			t.Errorf("%s: the keys %x, want %x", c.name, found.Keys, c.want)
		}
		if !slices.Equal(found.Tokens, []petcat.TokenHash{token.Hash}) {
			t.Errorf("%s: the tokens %x, want %x", c.name, found.Tokens, token.Hash)
		}
		rejected, message := found.Rejected, ""
		if rejected != nil {
			message = rejected.Message
		}
		if (message == "") != (c.rejected == "") || !strings.Contains(message, c.rejected) {
			t.Errorf("%s: rejected %v, want %q", c.name, rejected, c.rejected)
		}
	}
}

func generatedToken(t *testing.T) petcat.GeneratedOperatorToken {
	t.Helper()
	g, err := petcat.GenerateOperatorToken(seeded(4))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestOperatorToken: the secret of a token has the format of a key's secret, and its checksum.
func TestOperatorToken(t *testing.T) {
	g := generatedToken(t)
	secret := g.Secret.Reveal()
	if !regexp.MustCompile(`^pct_[0-9A-Za-z]{38}$`).MatchString(secret) || secret[32:36] != g.Hint {
		t.Errorf("%s with the hint %s", secret, g.Hint)
	}
	if hash, err := petcat.ParseOperatorToken(secret); err != nil || hash != g.Hash {
		t.Errorf("parsed: %x, %v, want %x", hash, err, g.Hash)
	}
	for _, wrong := range []string{
		"", secret[:len(secret)-1], secret + "0", secret[:len(secret)-6] + "000000",
		"pck_live_" + secret[4:], secret[4:],
	} {
		if _, err := petcat.ParseOperatorToken(wrong); petcat.CodeOf(err) != petcat.CodeInvalidToken {
			t.Errorf("ParseOperatorToken(%q): %v, want invalid_token", wrong, err)
		}
	}
}

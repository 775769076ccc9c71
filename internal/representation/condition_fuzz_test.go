package representation_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"petcat/internal/representation"
)

// FuzzIfNoneMatch compares the parser with a second opinion, the grammar of RFC
// 9110, section 13.1.2, as a regular expression.
func FuzzIfNoneMatch(f *testing.F) {
	const own = `"r-14"`
	for _, s := range []string{"", "*", own, "W/" + own, `"x,*,y"`, `"a",, ` + own, `"a" ` + own, own + `,"`, "\"\xe9\"," + own, ",*", "w/" + own} {
		f.Add(s)
	}
	const tag = `(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`
	// Bytes above ASCII stand for themselves: the text is read as Latin-1.
	list := regexp.MustCompile(`\A[ \t,]*(?:` + tag + `[ \t]*(?:,[ \t,]*` + tag + `[ \t]*)*(?:,[ \t,]*)?)?\z`)
	each := regexp.MustCompile(tag)
	f.Fuzz(func(t *testing.T, value string) {
		latin := make([]rune, len(value))
		for i := range len(value) {
			latin[i] = rune(value[i])
		}
		want := strings.Trim(value, " \t") == "*"
		if list.MatchString(string(latin)) {
			for _, found := range each.FindAllString(string(latin), -1) {
				want = want || strings.TrimPrefix(found, "W/") == own
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header["If-None-Match"] = []string{value}
		if got := representation.Evaluate(r, own, own) == representation.NotModified; got != want {
			t.Errorf("%q matches: %t, want %t", value, got, want)
		}
	})
}

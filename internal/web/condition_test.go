package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestEvaluate(t *testing.T) {
	const plain, zipped = `"r-14"`, `"r-14-gzip"`
	match := func(lines ...string) http.Header { return http.Header{"If-Match": lines} }
	noneMatch := func(lines ...string) http.Header { return http.Header{"If-None-Match": lines} }
	for _, c := range []struct {
		name      string
		header    http.Header
		get, post Outcome
	}{
		{"no condition", nil, Proceed, Proceed},
		{"If-Match the selected one", match(plain), Proceed, Proceed},
		{"If-Match another coding", match(zipped), Proceed, Proceed},
		{"If-Match another state", match(`"r-13"`), Failed, Failed},
		{"If-Match weak", match("W/" + plain), Failed, Failed},
		{"If-Match any", match("*"), Proceed, Proceed},
		{"If-Match in a list", match(`"a", W/"b" ,, ` + plain), Proceed, Proceed},
		{"If-Match without quotes", match("r-14"), Failed, Failed},
		{"If-None-Match the selected one", noneMatch(plain), NotModified, Failed},
		{"If-None-Match another coding", noneMatch(zipped), Proceed, Proceed},
		{"If-None-Match weak", noneMatch("W/" + plain), NotModified, Failed},
		{"If-None-Match any", noneMatch(" * "), NotModified, Failed},
		{"If-None-Match any in a list", noneMatch(plain + ", *"), Proceed, Proceed},
		{"If-None-Match a comma in a tag", noneMatch(`"x,*,y"`), Proceed, Proceed},
		{"If-None-Match behind a tag with a comma", noneMatch(`"x,y",` + plain), NotModified, Failed},
		{"If-None-Match bytes above ASCII", noneMatch("\"\xe9\"," + plain), NotModified, Failed},
		{"If-None-Match without a comma", noneMatch(`"a" ` + plain), Proceed, Proceed},
		{"If-None-Match unfinished", noneMatch(plain + `,"a`), Proceed, Proceed},
		{"If-None-Match nothing after W/", noneMatch(plain + ", W/"), Proceed, Proceed},
		{"If-None-Match a comma at the end", noneMatch(plain + " ,\t, "), NotModified, Failed},
		{"both, If-Match false", http.Header{"If-Match": {`"r-13"`}, "If-None-Match": {plain}}, Failed, Failed},
		{"both true and false", http.Header{"If-Match": {plain}, "If-None-Match": {plain}}, NotModified, Failed},
		{"dates, without Last-Modified", http.Header{
			"If-Unmodified-Since": {"Thu, 01 Jan 1970 00:00:00 GMT"}, "If-Modified-Since": {"Fri, 31 Dec 2100 00:00:00 GMT"},
		}, Proceed, Proceed},
	} {
		t.Run(c.name, func(t *testing.T) {
			for method, want := range map[string]Outcome{"GET": c.get, "HEAD": c.get, "POST": c.post} {
				r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
				r.Header = c.header
				if got := Evaluate(r, plain, plain, zipped); got != want {
					t.Errorf("%s: %d, want %d", method, got, want)
				}
			}
		})
	}
}

package httpapi

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
		get, post outcome
	}{
		{"no condition", nil, proceed, proceed},
		{"If-Match the selected one", match(plain), proceed, proceed},
		{"If-Match another coding", match(zipped), proceed, proceed},
		{"If-Match another state", match(`"r-13"`), failed, failed},
		{"If-Match weak", match("W/" + plain), failed, failed},
		{"If-Match any", match("*"), proceed, proceed},
		{"If-Match in a list", match(`"a", W/"b" ,, ` + plain), proceed, proceed},
		{"If-Match without quotes", match("r-14"), failed, failed},
		{"If-None-Match the selected one", noneMatch(plain), notModified, failed},
		{"If-None-Match another coding", noneMatch(zipped), proceed, proceed},
		{"If-None-Match weak", noneMatch("W/" + plain), notModified, failed},
		{"If-None-Match any", noneMatch(" * "), notModified, failed},
		{"If-None-Match any in a list", noneMatch(plain + ", *"), proceed, proceed},
		{"If-None-Match a comma in a tag", noneMatch(`"x,*,y"`), proceed, proceed},
		{"If-None-Match behind a tag with a comma", noneMatch(`"x,y",` + plain), notModified, failed},
		{"If-None-Match bytes above ASCII", noneMatch("\"\xe9\"," + plain), notModified, failed},
		{"If-None-Match without a comma", noneMatch(`"a" ` + plain), proceed, proceed},
		{"If-None-Match unfinished", noneMatch(plain + `,"a`), proceed, proceed},
		{"If-None-Match nothing after W/", noneMatch(plain + ", W/"), proceed, proceed},
		{"If-None-Match a comma at the end", noneMatch(plain + " ,\t, "), notModified, failed},
		{"both, If-Match false", http.Header{"If-Match": {`"r-13"`}, "If-None-Match": {plain}}, failed, failed},
		{"both true and false", http.Header{"If-Match": {plain}, "If-None-Match": {plain}}, notModified, failed},
		{"dates, without Last-Modified", http.Header{
			"If-Unmodified-Since": {"Thu, 01 Jan 1970 00:00:00 GMT"}, "If-Modified-Since": {"Fri, 31 Dec 2100 00:00:00 GMT"},
		}, proceed, proceed},
	} {
		t.Run(c.name, func(t *testing.T) {
			for method, want := range map[string]outcome{"GET": c.get, "HEAD": c.get, "POST": c.post} {
				r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
				r.Header = c.header
				if got := evaluate(r, plain, plain, zipped); got != want {
					t.Errorf("%s: %d, want %d", method, got, want)
				}
			}
		})
	}
}

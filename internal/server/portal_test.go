package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCustomerPages: the pages are served only if enabled, accept forms, and without TLS reject other
// machines.
func TestCustomerPages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages     bool
		publicURL string
		get, post int
	}{
		"off":            {false, "https://api.example.com", http.StatusNotFound, http.StatusNotFound},
		"without TLS":    {true, "http://api.example.com", http.StatusForbidden, http.StatusForbidden},
		"behind a proxy": {true, "https://api.example.com", http.StatusOK, http.StatusForbidden}, // an invalid token
	} {
		n := startTestNode(t, func(o *Options) {
			o.Settings.CustomerPages = c.pages
			o.Settings.PublicURL = c.publicURL
		})
		for method, want := range map[string]int{http.MethodGet: c.get, http.MethodPost: c.post} {
			const page = "http://www.evil.example/account/sign-in"
			r := httptest.NewRequestWithContext(t.Context(), method, page, strings.NewReader("token=x"))
			w := httptest.NewRecorder()
			n.api.Handler.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s, %s: %d, want %d", name, method, w.Code, want)
			}
			if strings.Contains(fmt.Sprint(w.Header(), w.Body), "evil") {
				t.Errorf("%s, %s: the response contains the Host: %v %s", name, method, w.Header(), w.Body)
			}
		}
	}
}

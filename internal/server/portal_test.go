package server

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
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

// TestNoKeyOnTheAPIListener: a URL with a key or a token is also rejected on the customer's pages and the
// documents.
func TestNoKeyOnTheAPIListener(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(o *Options) { o.Settings.CustomerPages = true })
	for _, secret := range []string{
		must(petcat.GenerateKey(petcat.Production, rand.Reader)).Secret.Reveal(),
		must(petcat.GenerateOperatorToken(rand.Reader)).Secret.Reveal(),
	} {
		for _, path := range []string{
			"/v1/categories?key=", "/v1/", "/account/keys/", "/account/?key=", "/docs?key=", "/",
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path+secret, nil)
			r.RemoteAddr = "127.0.0.1:1"
			w := httptest.NewRecorder()
			n.api.Handler.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized {
				t.Errorf("%s…: %d, want 401", path, w.Code)
			}
		}
	}
}

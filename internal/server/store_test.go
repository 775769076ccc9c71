package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCreatedCategoryIsListed: a category is in the list in memory before its 201 is sent.
func TestCreatedCategoryIsListed(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(*Options) {})
	_, secret := newKey(t, n.Store())
	send := func(method, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "/v1/categories", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+secret.Reveal())
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		n.api.Handler.ServeHTTP(w, r)
		return w
	}
	for _, name := range []string{"Dogs", "Cats"} {
		if created := send(http.MethodPost, `{"name":"`+name+`"}`); created.Code != http.StatusCreated {
			t.Fatalf("create %s: %d %s", name, created.Code, created.Body)
		}
		if list := send(http.MethodGet, ""); !strings.Contains(list.Body.String(), name) {
			t.Errorf("the list after the creation of %s: %d %s", name, list.Code, list.Body)
		}
	}
}

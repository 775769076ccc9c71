package wrk

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// A server that is slow gets as many requests as one that is not.
func TestOffer(t *testing.T) {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer x":
			w.WriteHeader(http.StatusUnauthorized)
		case n.Add(1)%2 == 0:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			<-time.After(50 * time.Millisecond)
			w.WriteHeader(http.StatusCreated)
		}
	}))
	defer server.Close()
	r := Request{Method: "POST", URL: server.URL, BodyFile: body, Header: []string{"Authorization: Bearer x"}}
	load := Load{Connections: 2, Duration: 200 * time.Millisecond}
	clients, err := NewClients(r, http.StatusCreated)
	if err != nil {
		t.Fatal(err)
	}
	defer clients.Close()
	got, err := clients.Offer(t.Context(), load, 500)
	if err != nil {
		t.Fatal(err)
	}
	if got.Sent < 90 || got.Sent > 101 || got.Refused != got.Sent/2 || got.Good == 0 || got.Good >= got.Sent-got.Refused || got.P50 < 50*time.Millisecond {
		t.Errorf("at 500 a second: %+v", got)
	}
	waiting, err := clients.Offer(t.Context(), load, 0)
	if err != nil || waiting.Sent > 30 {
		t.Errorf("two that wait for their answers: %+v, %v", waiting, err)
	}
	clients.request.Header = nil
	if got, err := clients.Offer(t.Context(), load, 100); err == nil {
		t.Errorf("refused without a key: %+v", got)
	}
}

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"petcat/client"
)

// TestDeleteOnlyWhatWasShown: at a terminal, a category that somebody changes while the
// command asks is not deleted.
func TestDeleteOnlyWhatWasShown(t *testing.T) {
	for name, tt := range map[string]struct {
		changes bool
		want    error
	}{
		"nobody changes it":   {},
		"somebody changes it": {changes: true, want: client.CodePreconditionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := &oneCategory{etag: `"dog"`}
			service := httptest.NewServer(s)
			defer service.Close()
			c, err := client.New(service.URL, "petcat_live_test")
			must(t, err)
			var prompt strings.Builder
			p := &program{stdin: &answerer{what: func() {
				if tt.changes {
					s.etag = `"hound"`
				}
			}, says: strings.NewReader("y\n")}, stderr: &prompt, isTerminal: func(any) bool { return true }}
			if err := p.deleteCategory(t.Context(), c, 1, false); !errors.Is(err, tt.want) {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
			if !strings.Contains(prompt.String(), "category 1 (dog)") {
				t.Errorf("it asks %q, want the name", prompt.String())
			}
			if s.deleted == tt.changes {
				t.Errorf("deleted: %v", s.deleted)
			}
		})
	}
}

// answerer is somebody at a terminal who does something, and then says yes.
type answerer struct {
	does sync.Once
	what func()
	says io.Reader
}

func (a *answerer) Read(b []byte) (int, error) {
	a.does.Do(a.what)
	return a.says.Read(b)
}

// oneCategory is a service with one category. It answers one request after the other.
type oneCategory struct {
	etag    string
	deleted bool
}

func (s *oneCategory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodGet:
		w.Header().Set("ETag", s.etag)
		_, _ = io.WriteString(w, `{"id":1,"name":"dog"}`)
	case r.Header.Get("If-Match") != s.etag:
		w.WriteHeader(http.StatusPreconditionFailed)
		_, _ = fmt.Fprintf(w, `{"code":%q,"message":"changed","status":412}`, client.CodePreconditionFailed)
	default:
		s.deleted = true
		w.WriteHeader(http.StatusNoContent)
	}
}

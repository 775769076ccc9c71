package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	client "petcat/client"
)

// TestDeleteOnlyWhatWasShown: at a terminal, a category that somebody changes while the
// command asks is not deleted.
func TestDeleteOnlyWhatWasShown(t *testing.T) {
	for _, changed := range []bool{false, true} {
		etag, deleted := `"dog"`, false
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", etag)
			switch {
			case r.Method == http.MethodGet:
				_, _ = io.WriteString(w, `{"id":1,"name":"dog"}`)
			case r.Header.Get("If-Match") != etag:
				w.WriteHeader(http.StatusPreconditionFailed)
				_, _ = io.WriteString(w, `{"code":"precondition_failed","message":"changed","status":412}`)
			default:
				deleted = true
				w.WriteHeader(http.StatusNoContent)
			}
		}))
		c, err := client.New(service.URL, "petcat_live_test")
		must(t, err)
		var prompt strings.Builder
		answer := readerFunc(func(b []byte) (int, error) {
			if changed {
				etag = `"hound"`
			}
			return copy(b, "y\n"), nil
		})
		p := &program{stdin: answer, stderr: &prompt, isTerminal: func(any) bool { return true }}
		err = p.deleteCategory(t.Context(), c, 1, false)
		if refused := errors.Is(err, client.CodePreconditionFailed); refused != changed || deleted == changed {
			t.Errorf("changed %t: deleted %t, %v", changed, deleted, err)
		}
		if !strings.Contains(prompt.String(), "category 1 (dog)") {
			t.Errorf("it asks %q, want the name", prompt.String())
		}
		service.Close()
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDocument(t *testing.T) {
	text := strings.Repeat("all work and no play ", 1_000)
	document := NewDocument("application/json", []byte(text))
	get := func(header http.Header) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", nil)
		r.Header = header
		w := httptest.NewRecorder()
		document.ServeHTTP(w, r)
		return w
	}
	plain, zipped := get(nil), get(http.Header{"Accept-Encoding": {"br, gzip;q=0.5"}})
	if plain.Code != 200 || plain.Body.String() != text || plain.Header().Get(
		"Content-Type") != "application/json" || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Content-Length") != "21000" {
		t.Errorf("plain: %d, %v", plain.Code, plain.Header())
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped.Body.Bytes()))
	if err != nil || zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Body.Len() > len(text)/5 {
		t.Fatalf("gzip: %d bytes, %v, %v", zipped.Body.Len(), zipped.Header(), err)
	}
	if data, err := io.ReadAll(z); err != nil || string(data) != text {
		t.Errorf("gzip: the content differs, %v", err)
	}
	tag, zippedTag := plain.Header().Get("ETag"), zipped.Header().Get("ETag")
	for _, c := range []struct {
		header http.Header
		status int
		etag   string
	}{
		{http.Header{"If-None-Match": {tag}}, 304, tag},
		{http.Header{"If-None-Match": {zippedTag}}, 200, tag},
		{http.Header{"If-None-Match": {zippedTag}, "Accept-Encoding": {"gzip"}}, 304, zippedTag},
	} {
		a := get(c.header)
		if h := a.Header(); a.Code != c.status || h.Get(
			"ETag") != c.etag || h.Get("Vary") != "Accept-Encoding" || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%v: %d, %v", c.header, a.Code, h)
		}
	}
	head := httptest.NewRecorder()
	document.ServeHTTP(head, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/openapi.json", nil))
	if head.Code != http.StatusOK || head.Body.Len() != 0 {
		t.Errorf("HEAD has the status %d and %d bytes", head.Code, head.Body.Len())
	}
}

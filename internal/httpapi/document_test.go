package httpapi

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
	ask := func(method string, header http.Header) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, "/openapi.json", nil)
		r.Header = header
		w := httptest.NewRecorder()
		document.ServeHTTP(w, r)
		return w
	}
	plain, zipped := ask("GET", nil), ask("GET", http.Header{"Accept-Encoding": {"br, gzip;q=0.5"}})
	if plain.Code != 200 || plain.Body.String() != text || plain.Header().Get("Content-Type") != "application/json" || plain.Header().Get("Content-Encoding") != "" {
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
	if tag == zippedTag {
		t.Errorf("both codings have the ETag %s", tag)
	}
	for _, c := range []struct {
		name   string
		header http.Header
		status int
	}{
		{"the same", http.Header{"If-None-Match": {tag}}, 304},
		{"the other coding's", http.Header{"If-None-Match": {zippedTag}}, 200},
		{"the selected coding's", http.Header{"If-None-Match": {zippedTag}, "Accept-Encoding": {"gzip"}}, 304},
		{"If-Match", http.Header{"If-Match": {tag}}, 200},
		{"If-Match of another", http.Header{"If-Match": {`"nope"`}}, 412},
	} {
		get, head := ask("GET", c.header), ask("HEAD", c.header)
		if get.Code != c.status || head.Code != c.status {
			t.Errorf("%s: %d, HEAD %d, want %d", c.name, get.Code, head.Code, c.status)
		}
		h := get.Header()
		switch c.status {
		case 304:
			want := map[bool]string{false: tag, true: zippedTag}[c.header.Get("Accept-Encoding") != ""]
			if get.Body.Len() > 0 || h.Get("ETag") != want || h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "" {
				t.Errorf("%s: %d bytes, %v", c.name, get.Body.Len(), h)
			}
		case 200:
			if head.Body.Len() > 0 {
				t.Errorf("%s: HEAD has %d bytes", c.name, head.Body.Len())
			}
		}
	}
}

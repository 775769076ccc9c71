package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/petcat-api/petcat"
)

func TestListCategories(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	if a := s.list(withKey(key)); string(a.body) != "[]" {
		t.Errorf("empty list: %s", a.body)
	}
	for _, body := range []string{
		`{"name":"dog"}`,
		`{"name":"cat","description":""}`,
		`{"name":"\u0041\"<&>\\ \ud83d\udc30","description":"a\tb\nc"}`,
	} {
		wantStatus(t, s.create(body, withKey(key)), 201)
	}
	a := s.do("GET", "/v1/categories?colour=red&x", nil, withKey(key)) // unknown parameters are ignored
	const want = `[{"id":1,"name":"dog"},{"id":2,"name":"cat","description":""},` +
		`{"id":3,"name":"A\"<&>\\ 🐰","description":"a\tb\nc"}]`
	if string(a.body) != want {
		t.Errorf("body %s\nwant %s", a.body, want)
	}
	wantHeader(t, a, "Cache-Control", "private, no-cache")
	wantHeader(t, a, "Vary", "Authorization, Accept-Encoding")
	wantHeader(t, a, "X-Stability", "stable")

	etag, zipped := a.Header.Get("ETag"), s.list(withKey(key), withHeader("Accept-Encoding", "gzip")).Header.Get("ETag")
	if etag == zipped || etag == "" || strings.HasPrefix(etag, "W/") {
		t.Errorf("ETags %s and %s", etag, zipped)
	}
	for _, value := range []string{etag, "W/" + etag, `"a", ` + etag, "*"} {
		a := s.list(withKey(key), withHeader("If-None-Match", value))
		wantHeader(t, a, "Content-Type", "")
		if a.StatusCode != 304 || len(a.body) != 0 || a.Header.Get("ETag") != etag {
			t.Errorf("%s: %d, %q, %v", value, a.StatusCode, a.body, a.Header)
		}
	}
	wantStatus(t, s.create(`{"name":"hare"}`, withKey(key)), 201)
	wantStatus(t, s.list(withKey(key), withHeader("If-None-Match", etag)), 200)
	wantError(t, s.list(withKey(key), withHeader("If-Match", etag)), 412, petcat.CodePreconditionFailed)
}

func TestListCategoriesEncodings(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 100_000_000))
	var many []petcat.RevisedCategory // far more than one block of the catalog
	for i := range 192 {
		description := strings.Repeat("x", 3000)
		many = append(many, petcat.RevisedCategory{
			Category: petcat.Category{ID: petcat.CategoryID(i + 1), Name: fmt.Sprint(
				"cat ", i), Description: &description}, Revision: petcat.Revision(i + 1),
		})
	}
	s.catalog.Apply(many)
	plain := s.list(withKey(key))
	wantStatus(t, plain, 200)
	if len(plain.body) < 500_000 {
		t.Fatalf("only %d bytes", len(plain.body))
	}
	for accept, want := range map[string]string{
		"gzip":                    "gzip",
		"gzip, deflate, br, zstd": "zstd",
		"gzip;q=1, zstd;q=0.5":    "gzip",
		"x-gzip, GZIP":            "gzip",
		"*":                       "gzip",
		"br":                      "",
		"gzip;q=0":                "",
		"gzip;q=many":             "",
	} {
		a := s.list(withKey(key), withHeader("Accept-Encoding", accept))
		wantStatus(t, a, 200)
		wantHeader(t, a, "Content-Encoding", want)
		if body := decode(t, want, a.body); !bytes.Equal(body, plain.body) {
			t.Errorf("%s: the decoded body differs", accept)
		}
		if want != "" && len(a.body) > len(plain.body)/5 {
			t.Errorf("%s: %d bytes of %d", accept, len(a.body), len(plain.body))
		}
	}
}

func decode(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	switch encoding {
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(body))
		must(t, err)
		// Only one gzip member, because some clients stop after the first.
		r.Multistream(false)
		body, err = io.ReadAll(r)
		must(t, err)
	case "zstd":
		d, err := zstd.NewReader(nil)
		must(t, err)
		defer d.Close()
		body, err = d.DecodeAll(body, nil)
		must(t, err)
	}
	return body
}

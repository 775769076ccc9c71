package catalog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"petcat"
	"petcat/internal/catalog"
)

// TestMain has the random tests draw the same each time; -rapid.seed draws others.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// block is how many bytes of JSON a block holds before the next one is begun.
const block = 128 << 10

// encodings are all encodings.
func encodings() []catalog.Encoding {
	return []catalog.Encoding{catalog.Identity, catalog.Gzip, catalog.Zstd}
}

// revised is a category whose revision leaves gaps, as other writes make them.
func revised(id int, name string, description *string) petcat.RevisedCategory {
	return petcat.RevisedCategory{
		Category: petcat.Category{ID: petcat.CategoryID(id), Name: name, Description: description},
		Revision: petcat.Revision(2*id + 5),
	}
}

// many returns categories from first to last, each of about size bytes.
func many(first, last, size int) []petcat.RevisedCategory {
	description := strings.Repeat("x", max(0, size-60))
	out := make([]petcat.RevisedCategory, 0, last-first+1)
	for id := first; id <= last; id++ {
		out = append(out, revised(id, "name "+strconv.Itoa(id), &description))
	}
	return out
}

func current(t rapid.TB, c *catalog.Catalog) *catalog.Snapshot {
	t.Helper()
	s, _, err := c.Current(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func joined(s *catalog.Snapshot, e catalog.Encoding) []byte {
	return bytes.Join(s.Representation(e).Parts, nil)
}

// decoded returns a body without its encoding, as strict clients read it: gzip
// of one member and nothing after it, zstd with no larger window than HTTP
// allows (RFC 9659).
func decoded(t rapid.TB, e catalog.Encoding, body []byte) []byte {
	t.Helper()
	switch e {
	case catalog.Identity:
	case catalog.Gzip:
		source := bytes.NewReader(body) // a ByteReader, so that nothing is read ahead
		r, err := gzip.NewReader(source)
		if err != nil {
			t.Fatal(err)
		}
		r.Multistream(false)
		body, err = io.ReadAll(r) // checks CRC and length
		if err != nil {
			t.Fatalf("gzip: %v", err)
		}
		if source.Len() != 0 {
			t.Fatalf("%d bytes follow the first gzip member", source.Len())
		}
	case catalog.Zstd:
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		body, err = d.DecodeAll(body, nil)
		if err != nil {
			t.Fatalf("zstd: %v", err)
		}
	}
	return body
}

// unmarshalled reads a list with the standard library, which knows nothing of
// how it was made. Members that are not a category's are an error.
func unmarshalled(t rapid.TB, body []byte) []petcat.Category {
	t.Helper()
	type category struct {
		ID          petcat.CategoryID `json:"id"`
		Name        string            `json:"name"`
		Description *string           `json:"description"`
	}
	var read []category
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		t.Fatalf("the list is no JSON array of categories: %v\n%.300s", err, body)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatal("something follows the list")
	}
	out := make([]petcat.Category, len(read))
	for i, c := range read {
		out[i] = petcat.Category(c)
	}
	return out
}

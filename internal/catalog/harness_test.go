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

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
)

// TestMain fixes the seed of random tests. Set another one with -rapid.seed.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// block is the size after which a block is closed, in bytes.
const block = 128 << 10

// encodings are all encodings.
func encodings() []catalog.Encoding {
	return []catalog.Encoding{catalog.Identity, catalog.Gzip, catalog.Zstd}
}

// revised returns a category whose revision leaves gaps for other writes.
func revised(id int, name string, description *string) petcat.RevisedCategory {
	return petcat.RevisedCategory{
		Category: petcat.Category{ID: petcat.CategoryID(id), Name: name, Description: description},
		Revision: petcat.Revision(2*id + 5),
		Account:  ownerOf(petcat.CategoryID(id)),
	}
}

// ownerOf returns the account that creates a category in the tests: 0, 1 or 2.
func ownerOf(id petcat.CategoryID) petcat.AccountID { return petcat.AccountID(id % 3) }

// many returns the categories from first to last, each of about size bytes.
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

// decoded decodes a body like a strict client: gzip with a single member and no data after it,
// zstd with the window that HTTP allows (RFC 9659).
func decoded(t rapid.TB, e catalog.Encoding, body []byte) []byte {
	t.Helper()
	switch e {
	case catalog.Identity:
	case catalog.Gzip:
		source := bytes.NewReader(body) // a ByteReader, to avoid reading ahead
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

// unmarshalled parses a list with the standard library. Unknown members are an error.
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
		t.Fatalf("the list is not a JSON array of categories: %v\n%.300s", err, body)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatal("there is data after the list")
	}
	out := make([]petcat.Category, len(read))
	for i, c := range read {
		out[i] = petcat.Category(c)
	}
	return out
}

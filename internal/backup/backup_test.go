package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

// row is a row of any kind.
type row struct {
	Kind   Kind
	Values []any
}

// sample is a small deployment without faults.
func sample() (Header, []row) {
	hash := func(b byte) []byte { return bytes.Repeat([]byte{b}, sha256.Size) }
	entry := petcat.AuditEntry{Sequence: 1, At: time.UnixMilli(5).UTC(), Actor: "cli:ada", Action: "account.create", Subject: "acct_1", Detail: "{}"}
	first := entry.Seal([sha256.Size]byte{})
	next := petcat.AuditEntry{Sequence: 2, At: time.UnixMilli(6).UTC(), Actor: "petcat", Action: "ban.impose", Subject: "key_1", Detail: "{}"}
	second := next.Seal(first)
	rows := []row{
		{Accounts, []any{int64(1), "zoo", "free", int64(60), int64(1_000), int64(5), nil, int64(1)}},
		{Accounts, []any{int64(3), "shop — 犬", "enterprise", int64(7), int64(8), int64(5), int64(9), int64(2)}},
		{Keys, []any{int64(1), int64(1), hash(1), "", "hint", int64(5), nil, int64(7), nil, int64(0), int64(3), true}},
		{Bans, []any{int64(1), int64(1), int64(5), int64(6), int64(1 << 50), int64(31), true, nil, "", int64(4)}},
		{Categories, []any{int64(1), "dog", nil, int64(5), int64(1), int64(5)}},
		{Categories, []any{int64(2), "cat", "", int64(6), int64(1), int64(5)}},
		{IdempotencyKeys, []any{int64(1), "a", hash(2), int64(2), int64(5)}},
		{DayCounts, []any{int64(20_000), int64(1), int64(17)}},
		{AuditEntries, []any{int64(1), int64(5), "cli:ada", "account.create", "acct_1", "{}", first[:]}},
		{AuditEntries, []any{int64(2), int64(6), "petcat", "ban.impose", "key_1", "{}", second[:]}},
		{Pets, []any{int64(1), "Rex", int64(1), int64(1), int64(5)}},
		{Pets, []any{int64(2), "Tom", int64(2), int64(3), int64(5)}},
		{Orders, []any{int64(1), int64(3), int64(1), int64(2), int64(5)}},
		{UsageNodes, []any{"N", int64(7), int64(5), false, nil}},
		{UsageHours, []any{int64(480_000), int64(0), int64(1), int64(2), int64(3), int64(4), int64(5), int64(6), int64(7)}},
		{UsageDays, []any{int64(20_000), int64(3), int64(1), int64(2), int64(3), int64(4), int64(5), int64(6), int64(7)}},
		{KeyUses, []any{int64(1), int64(5)}},
	}
	h := Header{
		TakenAt: time.UnixMilli(1).UTC(), Environment: petcat.Staging, Dataset: "D", Revision: 6, AccessRevision: 4,
		LastCategory: 2, LastAccount: 3, LastKey: 1, LastPet: 2, LastOrder: 1, Rows: map[Kind]int64{},
	}
	for _, k := range Kinds() {
		h.Rows[k] = 0
	}
	for _, r := range rows {
		h.Rows[r.Kind]++
	}
	return h, rows
}

// write returns a file.
func write(t *testing.T, h Header, rows []row) []byte {
	t.Helper()
	var file bytes.Buffer
	w := NewWriter(&file, "1.2.3")
	if err := w.Begin(h); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Row(r.Kind, r.Values); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// recorder is a sink that keeps everything.
type recorder struct {
	header Header
	rows   []row
}

func (r *recorder) Begin(h Header) error { r.header = h; return nil }

func (r *recorder) Row(k Kind, values []any) error {
	r.rows = append(r.rows, row{k, append([]any(nil), values...)})
	return nil
}

func tell(from io.Reader, to Sink) error {
	r, err := NewReader(from)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.CopyTo(to)
}

func TestEverythingComesBack(t *testing.T) {
	h, rows := sample()
	file := write(t, h, rows)
	h.Program = "1.2.3"
	for name, from := range map[string]io.Reader{
		"at once": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)), "data with the end": iotest.DataErrReader(bytes.NewReader(file)),
	} {
		var got recorder
		if err := tell(from, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(h, got.header); diff != "" {
			t.Errorf("%s: header (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(rows, got.rows); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", name, diff)
		}
	}
	if lines := strings.SplitN(string(file), "\n", 3); lines[0] != "petcat backup 2" || !json.Valid([]byte(lines[1])) {
		t.Errorf("the file begins %q", lines[:2])
	}
}

// TestFileOfFormat1: the sample as the last program of that format wrote it. Who could
// be read-only then was not, and there were no pets and orders, and no usage history.
func TestFileOfFormat1(t *testing.T) {
	file, err := os.ReadFile("testdata/format-1.backup")
	if err != nil {
		t.Fatal(err)
	}
	h, rows := sample()
	h.Program, h.LastPet, h.LastOrder = "1.2.3", 0, 0
	maps.DeleteFunc(h.Rows, func(k Kind, _ int64) bool { return k >= Pets })
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.Kind >= Pets })
	for _, r := range rows {
		if r.Kind == Keys {
			r.Values[len(r.Values)-1] = false
		}
	}
	var got recorder
	var checker Checker
	for _, to := range []Sink{&got, &checker} {
		if err := tell(bytes.NewReader(file), to); err != nil {
			t.Fatal(err)
		}
	}
	if found := checker.Findings(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	if diff := cmp.Diff(recorder{h, rows}, got, cmp.AllowUnexported(recorder{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func wantError(t *testing.T, what string, err error, kinds ...ErrorKind) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	for _, k := range kinds {
		if ok && e.Kind == k {
			return
		}
	}
	t.Errorf("%s: got %v, want an error of the kind %v", what, err, kinds)
}

func TestEveryCutAndEveryAlteredBitIsRefused(t *testing.T) {
	file := write(t, first(sample()), second(sample()))
	for at := range file {
		wantError(t, "cut", tell(bytes.NewReader(file[:at]), &recorder{}), Foreign, Damaged)
		for bit := range 8 {
			altered := bytes.Clone(file)
			altered[at] ^= 1 << bit
			wantError(t, "altered", tell(bytes.NewReader(altered), &recorder{}), Foreign, Newer, Damaged)
		}
	}
	wantError(t, "longer", tell(io.MultiReader(bytes.NewReader(file), strings.NewReader("x")), &recorder{}), Damaged)
	wantError(t, "twice", tell(io.MultiReader(bytes.NewReader(file), bytes.NewReader(file)), &recorder{}), Damaged)
}

func first(h Header, _ []row) Header    { return h }
func second(_ Header, rows []row) []row { return rows }

func TestOtherFiles(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want ErrorKind
	}{
		"empty":      {"", Foreign},
		"short":      {"petcat", Foreign},
		"a database": {"SQLite format 3\x00" + strings.Repeat("\x00", 4_000), Foreign},
		"no number":  {"petcat backup \n" + strings.Repeat("x", 100), Foreign},
		"zero":       {"petcat backup 0\n" + strings.Repeat("x", 100), Foreign},
		"newer":      {fmt.Sprintf("petcat backup %d\n", Format+1) + strings.Repeat("x", 100), Newer},
		"no header":  {"petcat backup 2\n" + strings.Repeat("x", 100), Damaged},
		"no rows":    {"petcat backup 2\n{}\n" + strings.Repeat("x", 100), Damaged},
	} {
		wantError(t, name, tell(strings.NewReader(c.text), &recorder{}), c.want)
	}
	gone := errors.New("the disk is gone")
	if err := tell(iotest.ErrReader(gone), &recorder{}); !errors.Is(err, gone) {
		t.Errorf("got %v, want the stream's error", err)
	}
}

// TestWriterKeepsTheFormat: what a store must not do fails when it is written, not
// when it is needed.
func TestWriterKeepsTheFormat(t *testing.T) {
	h, rows := sample()
	for name, wrong := range map[string]row{
		"a value is missing": {Accounts, rows[0].Values[1:]},
		"another type":       {DayCounts, []any{int64(1), int64(1), "17"}},
		"nil":                {DayCounts, []any{int64(1), nil, int64(1)}},
		"a Go int":           {DayCounts, []any{1, int64(1), int64(1)}},
		"no such kind":       {10, []any{int64(1)}},
	} {
		w := NewWriter(io.Discard, "")
		if err := w.Begin(h); err != nil {
			t.Fatal(err)
		}
		if err := w.Row(wrong.Kind, wrong.Values); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	w := NewWriter(io.Discard, "")
	if err := errors.Join(w.Begin(h), w.Row(Keys, rows[2].Values)); err != nil {
		t.Fatal(err)
	}
	if err := w.Row(Accounts, rows[0].Values); err == nil {
		t.Error("kinds out of order: no error")
	}
	if _, _, err := w.Finish(); err == nil {
		t.Error("fewer rows than the header says: no error")
	}
}

func FuzzReader(f *testing.F) {
	var file bytes.Buffer
	h, rows := sample()
	w := NewWriter(&file, "")
	err := w.Begin(h)
	for _, r := range rows {
		err = errors.Join(err, w.Row(r.Kind, r.Values))
	}
	if _, _, err := w.Finish(); err != nil {
		f.Fatal(err)
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte("petcat backup 2\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Checker
		if err := tell(bytes.NewReader(text), &c); err == nil && !bytes.HasPrefix(text, []byte(magic)) {
			t.Error("a file of another program was taken")
		}
	})
}

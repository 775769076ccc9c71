package backup

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestColumnsOfLaterFormats: what a file of an earlier format lacks is nil or zero.
func TestColumnsOfLaterFormats(t *testing.T) {
	columns := []Column{
		{Name: "id", Type: Integer},
		{Name: "note", Type: Text, Since: 2},
		{Name: "at", Type: Integer, Optional: true, Since: 2},
		{Name: "size", Type: Integer, Since: 2},
		{Name: "shadow", Type: Boolean, Since: 2},
		{Name: "hash", Type: Bytes, Since: 2},
		{Name: "name", Type: Text},
	}
	row, err := appendRow(nil, Accounts, columns, []any{int64(7), "new", int64(8), int64(9), true, []byte("x"), "zoo"})
	if err != nil {
		t.Fatal(err)
	}
	early, err := appendRow(nil, Accounts, []Column{columns[0], columns[6]}, []any{int64(7), "zoo"})
	if err != nil {
		t.Fatal(err)
	}
	for format, c := range map[int]struct {
		row  []byte
		want []any
	}{
		1: {early, []any{int64(7), "", nil, int64(0), false, []byte{}, "zoo"}},
		2: {row, []any{int64(7), "new", int64(8), int64(9), true, []byte("x"), "zoo"}},
	} {
		got := make([]any, len(columns))
		if err := readRow(bufio.NewReader(bytes.NewReader(c.row[1:])), format, columns, got); err != nil {
			t.Errorf("format %d: %v", format, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("format %d (-want +got):\n%s", format, diff)
		}
	}
}

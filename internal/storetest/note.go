package storetest

import "testing"

// testNotes: all processes read the same notes.
func testNotes(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	for _, text := range []string{"", "a", "b"} {
		if text != "" {
			must(t, 0, f.SetNote(t.Context(), "test", text))
		}
		got, err := other.Note(t.Context(), "test")
		wantEqual(t, "the note", text, must(t, got, err))
	}
	got, err := f.Note(t.Context(), "other")
	wantEqual(t, "another note", "", must(t, got, err))
}

package storetest

import "testing"

// testSharedTexts: all processes read the same shared texts.
func testSharedTexts(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	for _, text := range []string{"", "a", "b"} {
		if text != "" {
			must(t, 0, f.SetSharedText(t.Context(), "test", text))
		}
		got, err := other.SharedText(t.Context(), "test")
		wantEqual(t, "the text", text, must(t, got, err))
	}
	got, err := f.SharedText(t.Context(), "other")
	wantEqual(t, "another text", "", must(t, got, err))
}

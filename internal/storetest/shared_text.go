package storetest

import "testing"

// testSharedTexts: all processes read the same shared texts.
func testSharedTexts(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	for _, text := range []string{"", "a", "b"} {
		if text != "" {
			must(0, f.SetSharedText(t.Context(), "test", text))
		}
		wantEqual(t, "the text", text, must(other.SharedText(t.Context(), "test")))
	}
	wantEqual(t, "another text", "", must(f.SharedText(t.Context(), "other")))
}

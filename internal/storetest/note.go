package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
)

// testNotes: a note is seen by all processes, and of those that change what they saw, one
// does.
func testNotes(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	ctx := t.Context()
	swap := func(s Store, was, to string, want bool) {
		t.Helper()
		swapped, err := s.SwapNote(ctx, "test", was, to)
		must(t, 0, err)
		wantEqual(t, "swapped from "+was+" to "+to, want, swapped)
	}
	wants := func(want string) {
		t.Helper()
		text, err := other.Note(ctx, "test")
		wantEqual(t, "the note", want, must(t, text, err))
	}
	wants("")
	swap(f, "", "a", true)
	wants("a")
	swap(other, "", "b", false)
	swap(other, "a", "b", true)
	swap(f, "a", "c", false)
	wants("b")
	text, err := f.Note(ctx, "other")
	wantEqual(t, "another note", "", must(t, text, err))

	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		s := []Store{f, other}[i%2]
		all.Go(func() {
			swapped, err := s.SwapNote(ctx, "test", "b", "of "+string(rune('0'+i)))
			if err != nil {
				t.Error(err)
			}
			if swapped {
				won.Add(1)
			}
		})
	}
	all.Wait()
	wantEqual(t, "how many of those that saw the same changed it", 1, won.Load())
}

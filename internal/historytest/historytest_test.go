package historytest_test

import (
	"testing"

	"petcat/internal/historytest"
)

// fails is a test that notes whether it failed.
type fails struct {
	testing.TB
	failed bool
}

func (f *fails) Helper()      {}
func (f *fails) Error(...any) { f.failed = true }

func TestCheck(t *testing.T) {
	t.Parallel()
	says := func(text string) func() string { return func() string { return text } }
	for _, tc := range []struct {
		name   string
		record func(h *historytest.History)
		fails  bool
	}{
		{"one after the other", func(h *historytest.History) {
			h.Create(1, says("9"))
			h.Create(2, says("10"))
			h.List(1, says("9 10"))
		}, false},
		{"a create within a list", func(h *historytest.History) {
			h.Create(1, says("1"))
			h.List(1, func() string { h.Create(2, says("2")); return "1" })
		}, false},
		{"a list that is too old", func(h *historytest.History) {
			h.Create(1, says("1"))
			h.Create(1, says("2"))
			h.List(2, says("1"))
		}, true},
		{"out of order", func(h *historytest.History) {
			h.Create(1, says("9"))
			h.Create(1, says("10"))
			h.List(2, says("10 9"))
		}, true},
		{"an id twice", func(h *historytest.History) {
			h.Create(1, says("1"))
			h.Create(2, says("1"))
			h.List(2, says("1"))
		}, true},
		{"nothing to be seen", func(h *historytest.History) { h.List(1, says("")) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var h historytest.History
			tc.record(&h)
			f := &fails{TB: t}
			h.Check(f)
			if f.failed != tc.fails {
				t.Errorf("failed: %v, want %v", f.failed, tc.fails)
			}
		})
	}
}

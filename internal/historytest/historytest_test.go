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
	type (
		history = historytest.History
		item    = historytest.Item
	)
	create := func(h *history, client int, id int64, name string) {
		h.Create(client, name, func() int64 { return id })
	}
	list := func(h *history, client int, items ...item) {
		h.List(client, func() []item { return items })
	}
	yes, no := func() bool { return true }, func() bool { return false }
	for _, tc := range []struct {
		name   string
		record func(h *history)
		fails  bool
	}{
		{"one after the other", func(h *history) {
			create(h, 1, 9, "a")
			create(h, 2, 10, "b")
			list(h, 1, item{9, "a"}, item{10, "b"})
		}, false},
		{"a create within a list", func(h *history) {
			create(h, 1, 1, "a")
			h.List(1, func() []item { create(h, 2, 2, "b"); return []item{{1, "a"}} })
		}, false},
		{"changes and deletions", func(h *history) {
			create(h, 1, 1, "a")
			create(h, 1, 2, "b")
			h.Change(2, 1, "A", yes)
			h.Delete(2, 2, yes)
			h.Delete(2, 2, no)
			h.Change(2, 2, "B", no)
			h.Get(1, 1, func() (string, bool) { return "A", true })
			h.Get(1, 2, func() (string, bool) { return "", false })
			list(h, 2, item{1, "A"})
		}, false},
		{"a list that is too old", func(h *history) {
			create(h, 1, 1, "a")
			create(h, 1, 2, "b")
			list(h, 2, item{1, "a"})
		}, true},
		{"a name that is too old", func(h *history) {
			create(h, 1, 1, "a")
			h.Change(1, 1, "A", yes)
			list(h, 2, item{1, "a"})
		}, true},
		{"a read that is too old", func(h *history) {
			create(h, 1, 1, "a")
			h.Change(1, 1, "A", yes)
			h.Get(2, 1, func() (string, bool) { return "a", true })
			list(h, 2, item{1, "A"})
		}, true},
		{"what was deleted is shown", func(h *history) {
			create(h, 1, 1, "a")
			create(h, 1, 2, "b")
			h.Delete(1, 2, yes)
			list(h, 2, item{1, "a"}, item{2, "b"})
		}, true},
		{"a deletion of what is not there", func(h *history) {
			create(h, 1, 1, "a")
			h.Delete(1, 2, yes)
			list(h, 2, item{1, "a"})
		}, true},
		{"a change that did not find what is there", func(h *history) {
			create(h, 1, 1, "a")
			h.Change(1, 1, "A", no)
			list(h, 2, item{1, "a"})
		}, true},
		{"out of order", func(h *history) {
			create(h, 1, 9, "a")
			create(h, 1, 10, "b")
			list(h, 2, item{10, "b"}, item{9, "a"})
		}, true},
		{"an id twice", func(h *history) {
			create(h, 1, 1, "a")
			create(h, 2, 1, "b")
			list(h, 2, item{1, "a"})
		}, true},
		{"an id again", func(h *history) {
			create(h, 1, 1, "a")
			create(h, 1, 2, "b")
			h.Delete(1, 2, yes)
			create(h, 2, 2, "c")
			list(h, 2, item{1, "a"}, item{2, "c"})
		}, true},
		{"nothing to be seen", func(h *history) { list(h, 1) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var h history
			tc.record(&h)
			f := &fails{TB: t}
			h.Check(f)
			if f.failed != tc.fails {
				t.Errorf("failed: %v, want %v", f.failed, tc.fails)
			}
		})
	}
}

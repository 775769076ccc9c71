package petcat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// ChangedCategory is the last change of a category.
type ChangedCategory struct {
	ID       int64     `json:"id"`
	Category *Category `json:"category,omitempty"` // nil if it was deleted
}

func (c ChangedCategory) id() int64 { return c.ID }

// ChangePage is a page of changes.
type ChangePage struct {
	Changes  []ChangedCategory `json:"changes"`  // in the order of the changes, each category once
	Bookmark string            `json:"bookmark"` // later changes follow it
}

// ChangeOptions control how changes are read.
type ChangeOptions struct {
	// Bookmark is the bookmark of your last page; "" means none.
	Bookmark string
	// Limit is the page size, 1 to 1,000; 0 means 1,000.
	Limit int
}

const changesPath = categoriesPath + "/changes"

// Changes returns an iterator over the categories that changed after a bookmark, in pages. Without a
// bookmark, these are all categories, as if they had just been created. There is at least one page, so
// there is always a new bookmark. The iterator stops after the last change or an error. If the bookmark
// is older than 30 days, or of other data, the error is [CodeCursorExpired]: drop your copy, and begin
// without a bookmark. A [Mirror] does all that.
func (s *Categories) Changes(ctx context.Context, o ChangeOptions, options ...Option) iter.Seq2[ChangePage, error] {
	return func(yield func(ChangePage, error) bool) {
		limit, bookmark := cmp.Or(o.Limit, maxPage), o.Bookmark
		query := url.Values{"limit": {strconv.Itoa(limit)}}
		for more := true; more; {
			if bookmark != "" {
				query.Set("after", bookmark)
			}
			var changes list[ChangedCategory]
			res, err := s.client.Do(ctx, http.MethodGet, changesPath+"?"+query.Encode(), nil, &changes, options...)
			if err == nil {
				bookmark, err = nextCursor(res.Header)
			}
			if err != nil {
				yield(ChangePage{}, err)
				return
			}
			page := ChangePage{Changes: changes, Bookmark: bookmark}
			more = yield(page, nil) && len(changes) >= limit
		}
	}
}

// nextCursor returns the parameter after in the link to the next page.
func nextCursor(h http.Header) (string, error) {
	target, err := url.Parse(nextLink(h))
	cursor := ""
	if err == nil {
		cursor = target.Query().Get("after")
	}
	if cursor == "" {
		missing := &ConnectionError{Err: errors.New("the response has no link to the next page")}
		return "", fmt.Errorf("petcat: GET %s: %w", changesPath, missing)
	}
	return cursor, nil
}

// Mirror is a copy of all categories. It is safe for concurrent use. Use [Categories.NewMirror].
type Mirror struct {
	categories *Categories
	refreshing sync.Mutex
	current    atomic.Pointer[mirrored]
}

// mirrored is a state of a Mirror. It never changes.
type mirrored struct {
	bookmark string
	byID     map[int64]Category
}

// mirrorFile is a Mirror as JSON.
type mirrorFile struct {
	Bookmark   string         `json:"bookmark"`
	Categories list[Category] `json:"categories"`
}

// NewMirror returns an empty copy of all categories. [Mirror.Refresh] fills it.
func (s *Categories) NewMirror() *Mirror {
	m := &Mirror{categories: s}
	m.current.Store(new(mirrored))
	return m
}

// Categories returns all categories by id, as of the last Refresh. Do not change the map; no Refresh
// does.
func (m *Mirror) Categories() map[int64]Category { return m.current.Load().byID }

// Refresh brings the copy up to date, and reports whether it has changed. It takes one request, and one
// more for each 1,000 changes. If the bookmark has expired, it reads all categories again. After an
// error, the copy is unchanged.
func (m *Mirror) Refresh(ctx context.Context, options ...Option) (changed bool, err error) {
	m.refreshing.Lock()
	defer m.refreshing.Unlock()
	before := m.current.Load()
	after, err := m.follow(ctx, before, options)
	if before.bookmark != "" && errors.Is(err, CodeCursorExpired) {
		after, err = m.follow(ctx, new(mirrored), options)
	}
	if err != nil {
		return false, err
	}
	m.current.Store(after)
	return !maps.Equal(before.byID, after.byID), nil
}

// follow returns a state with all later changes.
func (m *Mirror) follow(ctx context.Context, from *mirrored, options []Option) (*mirrored, error) {
	after := &mirrored{bookmark: from.bookmark, byID: maps.Clone(from.byID)}
	for page, err := range m.categories.Changes(ctx, ChangeOptions{Bookmark: from.bookmark}, options...) {
		if err != nil {
			return nil, err
		}
		after.bookmark = page.Bookmark
		for _, change := range page.Changes {
			if change.Category == nil {
				delete(after.byID, change.ID)
				continue
			}
			if after.byID == nil {
				after.byID = make(map[int64]Category)
			}
			after.byID[change.ID] = *change.Category
		}
	}
	return after, nil
}

// Save writes the copy and its bookmark as one JSON document, for Load of a later process. The clients
// for other languages use the same format.
func (m *Mirror) Save(w io.Writer) error {
	now := m.current.Load()
	byID := func(a, b Category) int { return cmp.Compare(a.ID, b.ID) }
	all := slices.SortedFunc(maps.Values(now.byID), byID)
	file := mirrorFile{Bookmark: now.bookmark, Categories: append(list[Category]{}, all...)}
	text, err := json.Marshal(file)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Load replaces the copy with one that Save has written. After an error, the copy is unchanged.
func (m *Mirror) Load(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var file mirrorFile
	if err := json.Unmarshal(text, &file); err != nil || !file.Categories.valid() {
		return errors.New("petcat: this is not a mirror that Save has written; delete it, and refresh an empty one")
	}
	loaded := &mirrored{bookmark: file.Bookmark, byID: make(map[int64]Category, len(file.Categories))}
	for _, c := range file.Categories {
		loaded.byID[c.ID] = c
	}
	m.refreshing.Lock()
	defer m.refreshing.Unlock()
	m.current.Store(loaded)
	return nil
}

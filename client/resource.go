package petcat

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// resource is what the service assigns ids to.
type resource interface{ id() int64 }

func pathOf(list string, id int64) string { return list + "/" + strconv.FormatInt(id, 10) }

// one calls an operation that returns one resource.
func one[T resource](ctx context.Context, c *Client, method, path string, in any, options []Option) (v T, res *Response, err error) {
	res, err = c.Do(ctx, method, path, in, &v, options...)
	if err != nil {
		v = *new(T) // what was decoded of it
	}
	return v, res, err
}

// PageOptions says how a list is read in pages.
type PageOptions struct {
	// Limit is how many elements a page has at most, 1 to 1,000. 0 means 1,000.
	Limit int
	// After is an id: the first page begins after it.
	After int64
}

// maxPage is the most elements that the service puts into a page.
const maxPage = 1000

// all returns the elements of all pages of a list. The next page is asked for by the last id of
// a page, so that no link can lead the key to another host.
func all[T resource](ctx context.Context, c *Client, path string, filter url.Values, p PageOptions, options []Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(filter)
		query.Set("limit", strconv.Itoa(p.Limit))
		if p.Limit == 0 {
			query.Set("limit", strconv.Itoa(maxPage))
		}
		for after, more := p.After, true; more; {
			if after > 0 {
				query.Set("after", strconv.FormatInt(after, 10))
			}
			var page []T
			res, err := c.Do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page, options...)
			more = err == nil && strings.Contains(strings.ReplaceAll(res.Header.Get("Link"), `"`, ""), "rel=next")
			last := after
			for _, element := range page {
				last = element.id()
				if !yield(element, nil) {
					return
				}
			}
			if more && last <= after {
				err = errors.New("petcat: GET " + path + ": the next page is the same page")
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			after = last
		}
	}
}

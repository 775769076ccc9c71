package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
)

// Paging says how a list is read in pages.
type Paging struct {
	// Limit is how many elements a page has at most, 1 to 1,000. 0 means 1,000.
	Limit int
	// After is an id: the first page begins after it.
	After int64
}

// maxPage is the most elements that the service puts into a page.
const maxPage = 1000

func (p Paging) query() url.Values {
	if p.Limit == 0 {
		p.Limit = maxPage
	}
	q := url.Values{"limit": {strconv.Itoa(p.Limit)}}
	if p.After != 0 {
		q.Set("after", strconv.FormatInt(p.After, 10))
	}
	return q
}

// nextLink finds the next page in a Link header.
var nextLink = regexp.MustCompile(`<([^<>]*)>[^<>]*;\s*rel="?next\b`)

// pages returns the pages of a list. Each page takes one request, which is sent when the
// loop asks for it. After an error there are no more pages.
func pages[T any](ctx context.Context, c *Client, first call) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for query := first.query; query != nil; {
			r := first
			r.query = query
			page, res, err := fetch[[]T](ctx, c, &r)
			if err == nil {
				if query, err = nextPage(res.header, r.query); err != nil {
					err = r.failed(err, nil)
				}
			}
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// nextPage returns the query of the page after a response's, nil if it was the last. Only the
// query of the link is used, so that a link cannot lead the key to another host.
func nextPage(h http.Header, query url.Values) (url.Values, error) {
	for _, link := range h.Values("Link") {
		found := nextLink.FindStringSubmatch(link)
		if found == nil {
			continue
		}
		to, err := url.Parse(found[1])
		if err != nil {
			return nil, err
		}
		next := to.Query()
		if next.Encode() == query.Encode() {
			return nil, errors.New("the next page is the same page")
		}
		return next, nil
	}
	return nil, nil
}

// elements returns the elements of all pages.
func elements[T any](pages iter.Seq2[[]T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range pages {
			for _, element := range page {
				if !yield(element, nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}

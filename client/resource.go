package petcat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// resource is a thing with an id that the service assigned.
type resource interface{ id() int64 }

// list is a JSON array of resources.
type list[T resource] []T

// valid reports whether the response was an array whose elements have ids.
func (l list[T]) valid() bool {
	return l != nil && !slices.ContainsFunc(l, func(v T) bool { return v.id() <= 0 })
}

func pathOf(list string, id int64) string { return list + "/" + strconv.FormatInt(id, 10) }

// one calls an operation that returns a resource.
func one[T resource](
	ctx context.Context, c *Client, method, path string, in any, options []Option,
) (T, *Response, error) {
	var v, none T
	res, err := c.Do(ctx, method, path, in, &v, options...)
	if err != nil {
		return none, res, err
	}
	return v, res, nil
}

// PageOptions control how a list is read in pages.
type PageOptions struct {
	// Limit is the page size, 1 to 1,000; 0 means 1,000.
	Limit int
	// After is the id after which the list begins.
	After int64
}

// maxPage is the maximum page size.
const maxPage = 1000

// nextLink returns the target of the link to the next page, or "".
func nextLink(h http.Header) string {
	for link := range strings.SplitSeq(strings.Join(h.Values("Link"), ", "), "<") {
		target, parameters, _ := strings.Cut(link, ">")
		if strings.Contains(strings.ReplaceAll(parameters, `"`, ""), "rel=next") {
			return target
		}
	}
	return ""
}

// all returns an iterator over the pages of a list. It requests the next page by the last id of
// the current one, not by its link, which could send the key to another host.
func all[T resource](
	ctx context.Context, c *Client, path string, filter url.Values, p PageOptions, options []Option,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(filter)
		limit := cmp.Or(p.Limit, maxPage)
		query.Set("limit", strconv.Itoa(limit))
		for after, more := p.After, true; more; {
			if after > 0 {
				query.Set("after", strconv.FormatInt(after, 10))
			}
			var page list[T]
			res, err := c.Do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page, options...)
			// A proxy may have dropped the link of a full page.
			more = err == nil && (len(page) >= limit || nextLink(res.Header) != "")
			last := after
			for _, element := range page {
				last = element.id()
				if !yield(element, nil) {
					return
				}
			}
			if more = more && len(page) > 0; more && last <= after {
				same := &ConnectionError{Err: errors.New("the next page is the same page")}
				err = fmt.Errorf("petcat: GET %s: %w", path, same)
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			after = last
		}
	}
}

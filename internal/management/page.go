package management

import (
	"fmt"
	"net/url"

	"github.com/petcat-api/petcat"
)

// limit returns the requested maximum number of entries.
func (c *call) limit(byDefault int) (int, error) {
	text := c.query("limit")
	if text == "" {
		return byDefault, nil
	}
	n, isNumber := petcat.ParseNumber(text)
	if !isNumber || n < 1 || n > petcat.MaxPage {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "limit must be from 1 to %d", petcat.MaxPage)
	}
	return int(n), nil
}

// page returns the limit and the cursor of a list: the id of the last entry of the previous page, or
// zero for the first page. parse parses an id.
func page[ID ~int64](c *call, parse func(string) (ID, error)) (limit int, after ID, err error) {
	limit, err = c.limit(petcat.MaxPage)
	if err != nil {
		return 0, 0, err
	}
	text := c.query("after")
	if text == "" {
		return limit, 0, nil
	}
	after, err = parse(text)
	return limit, after, err
}

// linkNext adds a Link to the next page, which begins after the entry with the id last.
func (c *call) linkNext(last any) {
	q := c.r.URL.Query()
	q.Set("after", fmt.Sprint(last))
	next := url.URL{Path: c.r.URL.Path, RawQuery: q.Encode()}
	c.w.Header().Set("Link", "<"+next.String()+`>; rel="next"`)
}

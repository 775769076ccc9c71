package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"petcat"
)

// defaultPage is how many items a page has if the request has no limit.
const defaultPage = 100

// maxID is the highest id that there can be.
const maxID = 1<<53 - 1

// page is the part of a list that a request asks for.
type page struct {
	asked  bool // whether the request has limit or after
	limit  int
	after  int64  // the page begins after this id
	filter string // the request's other parameters, each followed by &
	query  url.Values
}

// query returns the parameters of a request. A query that cannot be read is an error, because
// without it the answer would be another than the caller asked for: the whole list, say.
func (e *exchange) query() (url.Values, error) {
	if e.r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(e.r.URL.RawQuery)
	if err != nil {
		return nil, petcat.Errorf(petcat.CodeInvalidField, "the query of the URL cannot be read; percent-encode the names and values of its parameters, and separate them with &")
	}
	return query, nil
}

// page reads the query with limit and after. Other parameters are ignored.
func (e *exchange) page() (page, error) {
	p := page{limit: defaultPage}
	var err error
	if p.query, err = e.query(); err != nil {
		return p, err
	}
	limit, limited, err := parameter(p.query, "limit", 1, petcat.MaxPage)
	if err != nil {
		return p, err
	}
	after, behind, err := parameter(p.query, "after", 0, maxID)
	if err != nil {
		return p, err
	}
	if limited {
		p.limit = int(limit)
	}
	p.after, p.asked = after, limited || behind
	return p, nil
}

// parameter reads a whole number from least to most from a query, and reports whether it
// was sent.
func parameter(query url.Values, name string, least, most int64) (n int64, sent bool, err error) {
	values := query[name]
	if len(values) == 0 {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < least || n > most || len(values) > 1 {
		return 0, false, petcat.Errorf(petcat.CodeInvalidField, "the query parameter %s must be one whole number from %d to %d", name, least, most)
	}
	return n, true, nil
}

// linkNext adds a Link to the next page (RFC 8288). after is the last id of this page, 0 if
// the list ends with it.
func (e *exchange) linkNext(p page, after int64) {
	if after == 0 {
		return
	}
	next := "<" + basePath + e.path + "?" + p.filter + "limit=" + strconv.Itoa(p.limit) + "&after=" + strconv.FormatInt(after, 10) + `>; rel="next"`
	h := e.header()
	h["Link"] = slices.Concat(h["Link"], []string{next})
}

// sendItems answers with a page of a list that was read from the store. If the list
// continues after the page, items has one more item than its limit.
func sendItems[T any](e *exchange, p page, items []T, id func(T) int64, appendItem func([]byte, T) ([]byte, error)) error {
	if len(items) > p.limit {
		items = items[:p.limit]
		e.linkNext(p, id(items[p.limit-1]))
	}
	body := []byte{'['}
	for i, item := range items {
		if i > 0 {
			body = append(body, ',')
		}
		var err error
		if body, err = appendItem(body, item); err != nil {
			return err
		}
	}
	e.sendUncached(http.StatusOK, append(body, ']'))
	return nil
}

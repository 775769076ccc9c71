package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/petcat-api/petcat"
)

// defaultPage is the page size if the request has no limit.
const defaultPage = 100

// maxID is the highest possible id.
const maxID = 1<<53 - 1

// page is the requested part of a list.
type page struct {
	asked  bool // whether the request has limit or after
	limit  int
	after  int64  // only items with a larger id
	filter string // the other parameters of the request, each followed by &
	query  url.Values
}

// page parses the query with limit and after.
func (e *exchange) page() (p page, err error) {
	if p, err = e.limitedPage(); err != nil {
		return p, err
	}
	p.asked = p.query.Has("limit") || p.query.Has("after")
	p.after, err = p.parameter("after", 0, maxID, 0)
	return p, err
}

// limitedPage parses the query with limit. An invalid query is an error, because ignoring it would
// return another list, for example all items.
func (e *exchange) limitedPage() (p page, err error) {
	if e.r.URL.RawQuery == "" {
		return page{limit: defaultPage}, nil
	}
	if p.query, err = e.query(); err != nil {
		return p, err
	}
	limit, err := p.parameter("limit", 1, petcat.MaxPage, defaultPage)
	p.limit = int(limit)
	return p, err
}

// query parses the query of the request.
func (e *exchange) query() (url.Values, error) {
	query, err := url.ParseQuery(e.r.URL.RawQuery)
	if err != nil {
		return nil, petcat.Errorf(petcat.CodeInvalidField,
			"the query of the URL cannot be read; percent-encode the names and values of its parameters, "+
				"and separate them with &")
	}
	return query, nil
}

// text returns a query parameter, nil if it is absent. It must not be repeated.
func (p page) text(name string) (*string, error) {
	values := p.query[name]
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
		return &values[0], nil
	default:
		return nil, petcat.Errorf(petcat.CodeInvalidField, "the query parameter %s must be sent once", name).In(name)
	}
}

// parameter returns a query parameter that must be a whole number from least to most, or the default
// if it is absent.
func (p page) parameter(name string, least, most, byDefault int64) (int64, error) {
	values := p.query[name]
	if len(values) == 0 {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < least || n > most || len(values) > 1 {
		return 0, petcat.Errorf(petcat.CodeInvalidField,
			"the query parameter %s must be one whole number from %d to %d", name, least, most).In(name)
	}
	return n, nil
}

const (
	// maxIgnored is the maximum number of parameters in X-Ignored-Parameters.
	maxIgnored = 10
	// maxIgnoredBytes is the maximum size of a name in X-Ignored-Parameters, without the three dots
	// of a longer one. Proxies replace responses whose headers exceed their buffer, often 4 KiB.
	maxIgnoredBytes = 64
)

// ignored returns the distinct names of unknown query parameters, for X-Ignored-Parameters.
func ignored(rawQuery string, known []string) string {
	var names []string
	for parameter := range strings.SplitSeq(rawQuery, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if name == "" || slices.Contains(known, name) || len(names) == maxIgnored {
			continue
		}
		if escaped := shortened(url.PathEscape(name)); !slices.Contains(names, escaped) {
			names = append(names, escaped)
		}
	}
	return strings.Join(names, ", ")
}

// shortened cuts an escaped name to maxIgnoredBytes, but not within an escape.
func shortened(escaped string) string {
	if len(escaped) <= maxIgnoredBytes {
		return escaped
	}
	short := escaped[:maxIgnoredBytes]
	if i := strings.LastIndexByte(short, '%'); i > maxIgnoredBytes-len("%41") {
		short = short[:i]
	}
	return short + "..."
}

// linkNext adds a Link to the next page. after is the last id of this page, 0 if it is the last page.
func (e *exchange) linkNext(p page, after int64) {
	if after != 0 {
		e.linkAfter(p, strconv.FormatInt(after, 10))
	}
}

// linkAfter adds a Link to the page after a position (RFC 8288).
func (e *exchange) linkAfter(p page, after string) {
	query := p.filter + "limit=" + strconv.Itoa(p.limit) + "&after=" + after
	next := "<" + e.server.options.PublicURL + basePath + e.path + "?" + query + `>; rel="next"`
	e.Header()["Link"] = append(slices.Clip(e.Header()["Link"]), next)
}

// sendItems sends a page of a list. If there is a next page, items has one item more than the limit.
// show returns the id of an item, and the value to marshal.
func sendItems[T any](e *exchange, p page, items []T, show func(T) (id int64, shown any)) {
	if len(items) > p.limit {
		items = items[:p.limit]
		last, _ := show(items[p.limit-1])
		e.linkNext(p, last)
	}
	all := make([]any, len(items))
	for i, item := range items {
		_, all[i] = show(item)
	}
	e.sendJSON(http.StatusOK, marshal(all))
}

// itemID returns the id at the end of the path, 0 if the last segment is not an id.
func (e *exchange) itemID() int64 {
	if id, isID := petcat.ParseID(e.item); isID && id <= maxID {
		return id
	}
	return 0
}

package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

// page reads the query with limit and after. A query that cannot be read is an error, because
// without it the answer would be another than the caller asked for: the whole list, say.
func (e *exchange) page() (p page, err error) {
	if e.r.URL.RawQuery == "" {
		return page{limit: defaultPage}, nil
	}
	if p.query, err = url.ParseQuery(e.r.URL.RawQuery); err != nil {
		return p, petcat.Errorf(petcat.CodeInvalidField, "the query of the URL cannot be read; percent-encode the names and values of its parameters, and separate them with &")
	}
	limit, err := p.parameter("limit", 1, petcat.MaxPage, defaultPage)
	if err != nil {
		return p, err
	}
	p.limit, p.asked = int(limit), p.query.Has("limit") || p.query.Has("after")
	p.after, err = p.parameter("after", 0, maxID, 0)
	return p, err
}

// parameter returns a whole number from least to most of the query, or the default if it was
// not sent.
func (p page) parameter(name string, least, most, byDefault int64) (int64, error) {
	values := p.query[name]
	if len(values) == 0 {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < least || n > most || len(values) > 1 {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "the query parameter %s must be one whole number from %d to %d", name, least, most).In(name)
	}
	return n, nil
}

// mostIgnored is how many ignored parameters an answer names.
const mostIgnored = 10

// ignored returns the names of the parameters of a query that are not known, each once, for
// X-Ignored-Parameters.
func ignored(rawQuery string, known []string) string {
	var names []string
	for parameter := range strings.SplitSeq(rawQuery, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if escaped := url.PathEscape(name); name != "" && !slices.Contains(known, name) && !slices.Contains(names, escaped) && len(names) < mostIgnored {
			names = append(names, escaped)
		}
	}
	return strings.Join(names, ", ")
}

// linkNext adds a Link to the next page (RFC 8288). after is the last id of this page, 0 if
// the list ends with it.
func (e *exchange) linkNext(p page, after int64) {
	if after == 0 {
		return
	}
	next := "<" + e.server.PublicURL + basePath + e.path + "?" + p.filter + "limit=" + strconv.Itoa(p.limit) + "&after=" + strconv.FormatInt(after, 10) + `>; rel="next"`
	e.Header()["Link"] = append(slices.Clip(e.Header()["Link"]), next)
}

// sendItems answers with a page of a list that was read from the store. If the list
// continues after the page, items has one more item than its limit. show returns an item's id
// and what JSON shows of it.
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

// itemID returns the id that a path ends with, 0 if its last segment is not an id.
func (e *exchange) itemID() int64 {
	id, err := strconv.ParseUint(e.item, 10, 53) // ids are below 2^53
	if err != nil || e.item[0] == '0' {
		return 0
	}
	return int64(id) // #nosec G115 -- it has 53 bits
}

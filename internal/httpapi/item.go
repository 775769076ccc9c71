package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"petcat"
	"petcat/internal/representation"
)

// itemID returns the id that a path ends with, 0 if its last segment is not an id.
func (e *exchange) itemID() int64 {
	id, err := strconv.ParseUint(e.item, 10, 53) // ids are below 2^53
	if err != nil || e.item[0] == '0' {
		return 0
	}
	return int64(id) // #nosec G115 -- it has 53 bits
}

// sendCurrent answers a GET with the current representation in parts, or with 304 or 412 by
// the request's conditions. age is how long ago it was known to be up to date; 0 means that
// it is.
func (e *exchange) sendCurrent(etag string, age time.Duration, parts ...[]byte) error {
	tags := []string{etag}
	if ends, err := e.revalidate(tags, tags, age, errItemChanged); ends {
		return err
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	h := e.header()
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = []string{strconv.Itoa(size)}
	e.send(http.StatusOK, parts...)
	return nil
}

// revalidate evaluates the conditions of a GET. selected has the entity tag of the selected
// representation, all those of all its representations. It sets the headers for caches. It
// reports whether the request ends here: with 304, which it sends, or with 412, for which it
// returns the error of changed.
func (e *exchange) revalidate(selected, all []string, age time.Duration, changed func() *petcat.Error) (ends bool, err error) {
	outcome := representation.Evaluate(e.r, selected[0], all...)
	if outcome == representation.Failed {
		return true, changed()
	}
	h := e.header()
	h["ETag"] = selected
	h["Cache-Control"] = cacheList
	h["Vary"] = varyList
	e.setAge(age)
	if outcome == representation.NotModified {
		e.send(http.StatusNotModified)
		return true, nil
	}
	return false, nil
}

func errItemChanged() *petcat.Error {
	return petcat.Errorf(petcat.CodePreconditionFailed, "what is there now does not meet If-Match or If-None-Match; read it again, then decide")
}

// setAge sets Age on an answer that may be out of date.
func (e *exchange) setAge(age time.Duration) {
	if age > 0 {
		e.header()["Age"] = []string{strconv.FormatInt(wholeSeconds(age), 10)}
	}
}

// wholeSeconds rounds up, so that no answer seems younger than it is, and a stale answer
// never has the age 0.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// createItem answers a POST that creates an item of a resource without a catalog. create
// reports whether an earlier request with the same idempotency key created the item.
func createItem[N, T any](
	e *exchange, body *bodyBuffer, decode func() (N, error), appendItem func([]byte, T) ([]byte, error),
	create func(N, petcat.IdempotencyKey) (item T, replayed bool, err error),
) error {
	key, err := idempotencyKey(e.r.Header)
	if err != nil {
		return err
	}
	asked, err := decode()
	if err != nil {
		return err
	}
	item, replayed, err := create(asked, key)
	if err != nil {
		return err
	}
	// The body has been read; its buffer takes the answer.
	if body.data, err = appendItem(body.data[:0], item); err != nil {
		return err
	}
	e.sendCreated(replayed, body.data)
	return nil
}

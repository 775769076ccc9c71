package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"petcat"
	"petcat/internal/representation"
)

// itemID returns the id that a path ends with, 0 if that is none.
func (e *exchange) itemID() int64 {
	id, err := strconv.ParseUint(e.item, 10, 53) // ids are below 2^53
	if err != nil || e.item[0] == '0' {
		return 0
	}
	return int64(id) // #nosec G115 -- it has 53 bits
}

// sendCurrent answers a GET with what is there now, or with 304 or 412, as the request's
// conditions want. age is how long ago it was known to be up to date, 0 for now.
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

// revalidate evaluates a GET's conditions on what is there now, whose selected
// representation has an entity tag, and all of whose representations have some. It tells
// caches what they need, and reports whether the answer ends here: with 304, which it
// sends, or with 412, the error that changed returns.
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

// setAge tells how old an answer is that could not be checked.
func (e *exchange) setAge(age time.Duration) {
	if age > 0 {
		e.header()["Age"] = []string{strconv.FormatInt(wholeSeconds(age), 10)}
	}
}

// wholeSeconds rounds up, so that nothing seems younger than it is, and what is
// not fresh never has the age 0.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// createItem answers the creation of an item that the store keeps and no catalog. create
// reports whether an earlier request with the same key made the item.
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

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
	outcome := representation.Evaluate(e.r, etag, etag)
	if outcome == representation.Failed {
		return errItemChanged()
	}
	h := e.header()
	h["ETag"] = []string{etag}
	h["Cache-Control"] = cacheList
	h["Vary"] = varyList
	e.setAge(age)
	if outcome == representation.NotModified {
		e.send(http.StatusNotModified)
		return nil
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = []string{strconv.Itoa(size)}
	e.send(http.StatusOK, parts...)
	return nil
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

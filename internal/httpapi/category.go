package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/representation"
)

// listCategories answers GET /categories.
func (s *Server) listCategories(e *exchange) error {
	list, age, err := s.catalog.Current(e.r.Context())
	if err != nil {
		return err
	}
	body := list.Representation(negotiate(e.r.Header["Accept-Encoding"]))
	outcome := representation.Evaluate(e.r, body.ETag[0], list.ETags()...)
	if outcome == representation.Failed {
		return errListChanged()
	}
	h := e.header()
	h["ETag"] = body.ETag
	h["Cache-Control"] = cacheList
	h["Vary"] = varyList
	if age > 0 {
		h["Age"] = []string{strconv.FormatInt(wholeSeconds(age), 10)}
	}
	if outcome == representation.NotModified {
		e.send(http.StatusNotModified)
		return nil
	}
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = body.ContentLength
	if body.ContentEncoding != nil {
		h["Content-Encoding"] = body.ContentEncoding
	}
	e.send(http.StatusOK, body.Parts...)
	return nil
}

// wholeSeconds rounds up, so that nothing seems younger than it is, and what is
// not fresh never has the age 0.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// createCategory answers POST /categories.
func (s *Server) createCategory(e *exchange, body *bodyBuffer) error {
	key, err := idempotencyKey(e.r.Header)
	if err != nil {
		return err
	}
	category, err := body.decodeNewCategory()
	if err != nil {
		return err
	}
	refused, err := s.checkConditions(e)
	if err != nil {
		return err
	}
	created, err := s.store.CreateCategory(e.r.Context(), petcat.CreateCategory{
		Account: e.caller.Account, New: category, IdempotencyKey: key, Refused: refused,
	})
	if err != nil {
		return err
	}
	// The body has been read; its buffer takes the answer.
	if body.data, err = catalog.AppendCategory(body.data[:0], created.Category); err != nil {
		return err
	}
	h := e.header()
	h["Content-Type"] = contentTypeJSON
	h["Cache-Control"] = cacheNoStore
	h["Location"] = []string{basePath + "/categories/" + strconv.FormatInt(int64(created.Category.ID), 10)}
	if created.Replayed {
		h["Idempotent-Replayed"] = trueValue
	}
	e.send(http.StatusCreated, body.data)
	return nil
}

// checkConditions evaluates the conditions of a request that would change the
// list, and returns why they refuse it, nil if they do not. They are compared with
// the list as it is before the request is carried out: of several that arrive at
// once, each may find its condition true.
func (s *Server) checkConditions(e *exchange) (refused *petcat.Error, err error) {
	if len(e.r.Header["If-Match"]) == 0 && len(e.r.Header["If-None-Match"]) == 0 {
		return nil, nil
	}
	list, _, err := s.catalog.Current(e.r.Context())
	if err != nil {
		return nil, err
	}
	selected := list.ETags()[negotiate(e.r.Header["Accept-Encoding"])]
	if representation.Evaluate(e.r, selected, list.ETags()...) != representation.Proceed {
		return errListChanged(), nil
	}
	return nil, nil
}

func errListChanged() *petcat.Error {
	return petcat.Errorf(petcat.CodePreconditionFailed, "the list does not meet If-Match or If-None-Match; read it again, then decide")
}

// idempotencyKey returns the request's idempotency key, "" for none.
func idempotencyKey(h http.Header) (petcat.IdempotencyKey, error) {
	switch values := h["Idempotency-Key"]; len(values) {
	case 0:
		return "", nil
	case 1:
		return petcat.ParseIdempotencyKey(values[0])
	default:
		return "", petcat.Errorf(petcat.CodeInvalidField, "send at most one Idempotency-Key header")
	}
}

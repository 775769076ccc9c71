package web

import (
	"crypto/rand"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
)

// RequestIDs makes the ids of requests: a random prefix of the process, and a number.
type RequestIDs struct {
	prefix string
	last   atomic.Uint64
}

// NewRequestIDs returns the ids of a listener.
func NewRequestIDs() *RequestIDs { return &RequestIDs{prefix: rand.Text()[:8] + "-"} }

var validRequestID = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,128}$`)

// Of returns the X-Request-Id of a request if a trusted proxy sent it, or a new id.
func (i *RequestIDs) Of(r *http.Request, trusted bool) string {
	id := r.Header["X-Request-Id"]
	if len(id) > 0 && trusted && validRequestID.MatchString(id[0]) {
		return id[0]
	}
	return i.prefix + strconv.FormatUint(i.last.Add(1), 36)
}

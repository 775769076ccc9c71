package representation

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"

	"petcat"
)

// Document is a document that never changes, as an http.Handler for GET and HEAD.
// Use [NewDocument].
type Document struct {
	contentType string
	plain       coded
	etags       []string // of all codings
	// gzipped returns the compressed form, nil if it is not smaller. It compresses at the
	// first request: at the start, that would cost every server a tenth of a second.
	gzipped func() *coded
}

// coded is a document in one content coding.
type coded struct {
	data []byte
	etag string
}

// NewDocument returns a document of a media type. Do not change data afterwards.
func NewDocument(contentType string, data []byte) *Document {
	sum := sha256.Sum256(data)
	tag := hex.EncodeToString(sum[:12])
	plainTag, zippedTag := `"`+tag+`"`, `"`+tag+`-gzip"`
	return &Document{
		contentType: contentType,
		plain:       coded{data: data, etag: plainTag},
		etags:       []string{plainTag, zippedTag},
		gzipped: sync.OnceValue(func() *coded {
			z := compress(data)
			if len(z) >= len(data) {
				return nil
			}
			return &coded{data: z, etag: zippedTag}
		}),
	}
}

// ServeHTTP answers with the document, compressed if the client accepts that, or with 304 or
// 412 by the request's conditions.
func (d *Document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	selected, coding := &d.plain, ""
	if Prefer(r.Header["Accept-Encoding"], "gzip") == 0 {
		if z := d.gzipped(); z != nil {
			selected, coding = z, "gzip"
		}
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	outcome := Evaluate(r, selected.etag, d.etags...)
	if outcome == Failed {
		Refuse(w, http.StatusPreconditionFailed, petcat.CodePreconditionFailed, "this document is not the one that If-Match names; get it again")
		return
	}
	// Browsers ask for it each time and nearly always get 304. So they never use old files
	// with a new version of the server.
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", selected.etag)
	if outcome == NotModified {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", d.contentType)
	h.Set("Content-Length", strconv.Itoa(len(selected.data)))
	if coding != "" {
		h.Set("Content-Encoding", coding)
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(selected.data) // fails only when the client has gone
	}
}

// Refuse answers with an error in the form of the API's. The message needs no
// escaping in JSON.
func Refuse(w http.ResponseWriter, status int, code petcat.Code, message string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"code":"` + string(code) + `","message":"` + message + `","status":` + strconv.Itoa(status) + "}"))
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	// Writes to a buffer do not fail.
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

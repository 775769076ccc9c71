package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"
)

// NewDocument returns the handler of a document that never changes while the program runs.
// It is compressed at its first request, because compressing all documents at the start
// would take a tenth of a second. Do not change data afterwards.
func NewDocument(contentType string, data []byte) http.Handler {
	sum := sha256.Sum256(data)
	tag := hex.EncodeToString(sum[:12])
	compressed := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		// Writes to a buffer do not fail.
		_, _ = z.Write(data)
		_ = z.Close()
		return b.Bytes()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		// Browsers ask for it each time and nearly always get 304. So they never use old
		// files with a new version of the server.
		h.Set("Cache-Control", "no-cache")
		h.Add("Vary", "Accept-Encoding")
		h.Set("Content-Type", contentType)
		body, tag := data, tag
		if prefer(r.Header["Accept-Encoding"], "gzip") == 0 && len(compressed()) < len(data) {
			body, tag = compressed(), tag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
		tag = `"` + tag + `"`
		h.Set("ETag", tag)
		// Not http.ServeContent: it copies through 32 KiB, which a client that reads nothing
		// would hold for each request.
		if evaluate(r, tag, tag) == notModified {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // fails only when the client has gone
		}
	})
}

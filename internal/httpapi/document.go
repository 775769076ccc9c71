package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path"
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

// Files returns the handlers of the embedded files that match a pattern, by their names.
func Files(embedded fs.FS, pattern string) map[string]http.Handler {
	files := make(map[string]http.Handler)
	names, err := fs.Glob(embedded, pattern)
	for _, name := range names {
		var data []byte
		data, err = fs.ReadFile(embedded, name)
		files[name] = NewDocument(contentType(name), data)
	}
	if err != nil || len(files) == 0 { // the files are part of the binary
		panic(errors.Join(err, errors.New("no files match "+pattern)))
	}
	return files
}

// contentType does not ask the machine, whose tables differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	default:
		return "text/plain; charset=utf-8"
	}
}

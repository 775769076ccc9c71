package web

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

// NewDocument returns a handler for a constant document. It is compressed at the first request,
// because compressing all documents at the start would take 0.1 s. Do not modify data afterwards.
func NewDocument(contentType string, data []byte) http.Handler {
	sum := sha256.Sum256(data)
	tag := hex.EncodeToString(sum[:12])
	compressed := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		// Writes to a buffer cannot fail.
		_, _ = z.Write(data)
		_ = z.Close()
		return b.Bytes()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		// Browsers revalidate it each time, and mostly get 304. So they never use old files with
		// a new version of the server.
		h.Set("Cache-Control", "no-cache")
		h.Add("Vary", "Accept-Encoding")
		h.Set("Content-Type", contentType)
		body, tag := data, tag
		if PreferredEncoding(r.Header["Accept-Encoding"], "gzip") == 0 && len(compressed()) < len(data) {
			body, tag = compressed(), tag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
		tag = `"` + tag + `"`
		h.Set("ETag", tag)
		// Not http.ServeContent: it would use 32 KiB for each client that does not read.
		if Evaluate(r, tag, tag) == NotModified {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // fails only if the client disconnected
		}
	})
}

// Files returns handlers for the embedded files that match a pattern, by name.
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

// contentType does not use the system's MIME tables, which differ between machines.
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

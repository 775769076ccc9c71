package reference

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"sync"
)

//go:embed assets page
var embedded embed.FS

// file is one file of the page.
type file struct {
	contentType string
	plain       variant
	// gzipped returns the compressed form, nil when it is no smaller. It is
	// made when somebody first asks: at start it would cost every server a
	// tenth of a second.
	gzipped func() *variant
}

// variant is a file in one encoding.
type variant struct {
	data []byte
	etag string
}

// load returns the files by path.
func load() map[string]*file {
	files := make(map[string]*file)
	for at, name := range map[string]string{
		"/docs":                                  "page/index.html",
		"/docs/page.js":                          "page/page.js",
		"/docs/page.css":                         "page/page.css",
		"/docs/swagger-ui-bundle.js":             "assets/swagger-ui-bundle.js",
		"/docs/swagger-ui-bundle.js.LICENSE.txt": "assets/swagger-ui-bundle.js.LICENSE.txt",
		"/docs/swagger-ui.css":                   "assets/swagger-ui.css",
		"/docs/favicon-32x32.png":                "assets/favicon-32x32.png",
		"/docs/LICENSE":                          "assets/LICENSE",
		"/docs/NOTICE":                           "assets/NOTICE",
	} {
		data, err := fs.ReadFile(embedded, name)
		if err != nil { // the files are part of the binary
			panic(err)
		}
		files[at] = newFile(name, data)
	}
	return files
}

func newFile(name string, data []byte) *file {
	sum := sha256.Sum256(data)
	tag := hex.EncodeToString(sum[:12])
	return &file{
		contentType: contentType(name),
		plain:       variant{data: data, etag: `"` + tag + `"`},
		gzipped: sync.OnceValue(func() *variant {
			z := compress(data)
			if len(z) >= len(data) {
				return nil
			}
			return &variant{data: z, etag: `"` + tag + `-gzip"`}
		}),
	}
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
	default:
		return "text/plain; charset=utf-8"
	}
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	// Writes to a buffer do not fail.
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

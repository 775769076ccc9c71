package httpapi

import (
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/web"
)

// negotiate returns the preferred encoding of a list. On a tie it returns zstd, which is the
// smallest.
func negotiate(acceptEncoding []string) catalog.Encoding {
	if len(acceptEncoding) == 0 {
		return catalog.Identity
	}
	offered := [...]catalog.Encoding{catalog.Zstd, catalog.Gzip}
	if i := web.PreferredEncoding(acceptEncoding, offered[0].String(), offered[1].String()); i >= 0 {
		return offered[i]
	}
	return catalog.Identity
}

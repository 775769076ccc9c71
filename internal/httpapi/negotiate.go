package httpapi

import (
	"petcat/internal/catalog"
	"petcat/internal/representation"
)

// negotiate returns the encoding that Accept-Encoding prefers. On a tie it is zstd, which is
// the smallest.
func negotiate(acceptEncoding []string) catalog.Encoding {
	if len(acceptEncoding) == 0 {
		return catalog.Identity
	}
	offered := [...]catalog.Encoding{catalog.Zstd, catalog.Gzip}
	i := representation.Prefer(acceptEncoding, offered[0].String(), offered[1].String())
	if i < 0 {
		return catalog.Identity
	}
	return offered[i]
}

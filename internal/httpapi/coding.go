package httpapi

import (
	"strconv"
	"strings"

	"petcat/internal/catalog"
)

// negotiate returns the encoding of a list that Accept-Encoding prefers. On a tie it is zstd,
// which is the smallest.
func negotiate(acceptEncoding []string) catalog.Encoding {
	if len(acceptEncoding) == 0 {
		return catalog.Identity
	}
	offered := [...]catalog.Encoding{catalog.Zstd, catalog.Gzip}
	if i := prefer(acceptEncoding, offered[0].String(), offered[1].String()); i >= 0 {
		return offered[i]
	}
	return catalog.Identity
}

// prefer returns the index of the offered content coding that Accept-Encoding prefers, -1 for
// none of them (RFC 9110, section 12.5.3): the coding with the highest weight, on a tie the
// first, and a coding rather than none. A client that accepts * gets gzip, which all clients
// know, and zstd only if it names it. A coding with an invalid weight is not used.
func prefer(acceptEncoding []string, offered ...string) int {
	weight := map[string]float64{}
	for coding := range strings.SplitSeq(strings.Join(acceptEncoding, ","), ",") {
		name, parameter, weighted := strings.Cut(coding, ";")
		q := 1.0
		if weighted {
			_, value, _ := strings.Cut(parameter, "=")
			q, _ = strconv.ParseFloat(strings.TrimSpace(value), 64) // 0 for what is no number
		}
		weight[strings.ToLower(strings.TrimSpace(name))] = q
	}
	best, bestWeight := -1, 0.0
	for i, name := range offered {
		q, named := weight[name]
		if !named && name == "gzip" {
			q = weight["*"]
		}
		if q > bestWeight {
			best, bestWeight = i, q
		}
	}
	// If identity is not named, it is acceptable but not preferred to a named coding.
	if weight["identity"] > bestWeight {
		best = -1
	}
	return best
}

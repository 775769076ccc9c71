package web

import (
	"strconv"
	"strings"
)

// PreferredEncoding returns the index of the preferred content coding, or -1 for identity (RFC 9110, section
// 12.5.3): the coding with the highest weight, on a tie the first. With *, only gzip matches, because
// all clients know it. A coding with an invalid weight is ignored.
func PreferredEncoding(acceptEncoding []string, offered ...string) int {
	weight := map[string]float64{}
	for coding := range strings.SplitSeq(strings.Join(acceptEncoding, ","), ",") {
		name, parameter, weighted := strings.Cut(coding, ";")
		q := 1.0
		if weighted {
			_, value, _ := strings.Cut(parameter, "=")
			q, _ = strconv.ParseFloat(strings.TrimSpace(value), 64) // 0 if it is invalid
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
	// If identity is not listed, it is acceptable but not preferred.
	if weight["identity"] > bestWeight {
		best = -1
	}
	return best
}

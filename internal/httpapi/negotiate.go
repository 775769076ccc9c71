package httpapi

import (
	"strconv"
	"strings"

	"petcat/internal/catalog"
)

// negotiate returns the best encoding that the caller takes (RFC 9110, section
// 12.5.3): the one it weighs highest, on a tie zstd before gzip before none,
// which is from the smallest to the largest.
func negotiate(acceptEncoding []string) catalog.Encoding {
	if len(acceptEncoding) == 0 {
		return catalog.Identity
	}
	weight := map[string]float64{}
	for _, value := range acceptEncoding {
		for coding := range strings.SplitSeq(value, ",") {
			name, parameters, _ := strings.Cut(coding, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			weight[name] = quality(parameters)
		}
	}
	best, bestWeight := catalog.Identity, 0.0
	for _, e := range [...]catalog.Encoding{catalog.Zstd, catalog.Gzip} {
		q, named := weight[e.String()]
		if !named {
			q = weight["*"]
		}
		if q > bestWeight {
			best, bestWeight = e, q
		}
	}
	// What is not named may be sent as it is, but is not preferred to what is.
	if q, named := weight[catalog.Identity.String()]; named && q > bestWeight {
		best = catalog.Identity
	}
	return best
}

// quality reads the q of a list element's parameters; 1 when there is none, 0
// when it cannot be read: who writes nonsense gets what everybody understands.
func quality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, found := strings.Cut(parameter, "=")
		if found && strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || q < 0 || q > 1 {
				return 0
			}
			return q
		}
	}
	return 1
}

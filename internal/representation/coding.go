package representation

import (
	"strconv"
	"strings"
)

// Prefer returns the index of the offered content coding that Accept-Encoding prefers, -1 for
// none of them (RFC 9110, section 12.5.3): the coding with the highest weight, on a tie the
// first, and a coding rather than none. A client that accepts * gets gzip, which all clients
// know, and zstd only if it names it.
func Prefer(acceptEncoding []string, offered ...string) int {
	if len(acceptEncoding) == 0 {
		return -1
	}
	weight := map[string]float64{}
	for _, value := range acceptEncoding {
		for coding := range strings.SplitSeq(value, ",") {
			name, parameters, _ := strings.Cut(coding, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			weight[name] = quality(parameters)
		}
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
	if q, named := weight["identity"]; named && q > bestWeight {
		best = -1
	}
	return best
}

// quality reads the weight q of a list element: 1 if there is none. An invalid weight is 0,
// so that the client gets the identity coding, which every client understands.
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

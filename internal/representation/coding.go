package representation

import (
	"strconv"
	"strings"
)

// Prefer returns the index of the content coding that the caller likes best of
// those on offer, -1 for none of them (section 12.5.3): the one it weighs highest,
// on a tie the first, and any rather than none.
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
		if !named {
			q = weight["*"]
		}
		if q > bestWeight {
			best, bestWeight = i, q
		}
	}
	// What is not named may be sent as it is, but is not preferred to what is.
	if q, named := weight["identity"]; named && q > bestWeight {
		best = -1
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

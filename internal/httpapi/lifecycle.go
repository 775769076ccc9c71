package httpapi

import (
	"net/http"
	"strconv"

	"petcat"
)

// lifecycle returns the headers that tell how long an operation can be relied
// on: X-Stability, and once it is deprecated, Deprecation (RFC 9745), Sunset
// (RFC 8594) and a Link to what they mean.
func lifecycle(o petcat.Operation) []field {
	fields := []field{{"X-Stability", []string{string(o.Stability)}}}
	if o.DeprecatedAt.IsZero() {
		return fields
	}
	fields = append(fields,
		field{"Deprecation", []string{"@" + strconv.FormatInt(o.DeprecatedAt.Unix(), 10)}},
		field{"Link", []string{`</docs>; rel="deprecation"; type="text/html"`}})
	if !o.SunsetAt.IsZero() {
		fields = append(fields, field{"Sunset", []string{o.SunsetAt.UTC().Format(http.TimeFormat)}})
	}
	return fields
}

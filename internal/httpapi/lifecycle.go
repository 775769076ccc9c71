package httpapi

import (
	"net/http"
	"strconv"

	"petcat"
)

// deprecationPage is the path of the section of the reference page that explains
// deprecation.
const deprecationPage = "/docs#deprecation"

// lifecycle returns the headers that say how long an operation can be relied on:
// X-Stability and, once it is deprecated, Deprecation (RFC 9745), Sunset (RFC 8594) and a
// Link to what they mean.
//
// Every answer of the operation itself has them, errors included. Answers before the
// operation is known do not: 401, 429, 404, 405, and 503 while keys or counts are
// unavailable. They say nothing about the operation, so a caller does not miss them there.
func lifecycle(o petcat.Operation) []field {
	fields := []field{{"X-Stability", []string{string(o.Stability)}}}
	if !o.Deprecated() {
		return fields
	}
	link := "<" + deprecationPage + `>; rel="deprecation"; type="text/html"`
	if !o.SunsetAt.IsZero() {
		link += ", <" + deprecationPage + `>; rel="sunset"; type="text/html"`
		fields = append(fields, field{"Sunset", []string{o.SunsetAt.UTC().Format(http.TimeFormat)}})
	}
	return append(fields,
		field{"Deprecation", []string{"@" + strconv.FormatInt(o.DeprecatedAt.Unix(), 10)}},
		field{"Link", []string{link}})
}

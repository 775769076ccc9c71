package httpapi

import (
	"net/http"
	"strconv"

	"petcat"
)

// deprecationPage is where the reference page explains deprecation, as a path that
// is absolute on this server.
const deprecationPage = "/docs#deprecation"

// lifecycle returns the headers that tell how long an operation can be relied
// on: X-Stability, and once it is deprecated, Deprecation (RFC 9745), Sunset
// (RFC 8594) and a Link to what they mean.
//
// They are on every answer of the operation itself, its errors included. What is
// answered before the path is looked at, or because nothing is there, has none of
// them: 401, 429, 404, 405, and 503 while keys or counts are unavailable. A caller
// misses nothing by that: those answers say nothing about the operation either.
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

package httpapi

import (
	"slices"
	"strings"

	"petcat"
)

// acceptIdentity is the Accept-Encoding of the answer to a compressed body: it says which
// coding to send instead (RFC 9110, section 15.5.16).
var acceptIdentity = []string{"identity"} //nolint:gochecknoglobals // nobody changes it

// asJSON accepts the Content-Type application/json with any parameters, or none at all.
func asJSON(e *exchange) error { return checkMediaType(e, mediaJSON) }

// asMergePatch accepts a JSON merge patch (RFC 7396), and JSON, which has the same syntax.
func asMergePatch(e *exchange) error {
	err := checkMediaType(e, mediaMergePatch, mediaJSON)
	if err != nil {
		e.header()["Accept-Patch"] = acceptPatch // RFC 5789, section 3.1
	}
	return err
}

const (
	mediaJSON       = "application/json"
	mediaMergePatch = "application/merge-patch+json"
)

var acceptPatch = []string{mediaMergePatch + ", " + mediaJSON} //nolint:gochecknoglobals // nobody changes it

// checkMediaType returns the error 415 unless a request has one of the accepted media types,
// or no Content-Type. The error recommends the first of them.
func checkMediaType(e *exchange, accepted ...string) error {
	h := e.r.Header
	if coding := strings.Trim(strings.Join(h["Content-Encoding"], ","), " \t"); coding != "" && !strings.EqualFold(coding, "identity") {
		e.header()["Accept-Encoding"] = acceptIdentity
		return petcat.Errorf(petcat.CodeUnsupportedMediaType, "the body must be sent without a Content-Encoding")
	}
	if len(h["Content-Type"]) > 1 {
		return petcat.Errorf(petcat.CodeUnsupportedMediaType, "send exactly one Content-Type header: %s", accepted[0])
	}
	sent := h.Get("Content-Type")
	kind, _, _ := strings.Cut(sent, ";")
	kind = strings.ToLower(strings.Trim(kind, " \t"))
	if sent == "" || slices.Contains(accepted, kind) {
		return nil
	}
	return petcat.Errorf(petcat.CodeUnsupportedMediaType, "the body must be JSON%s; send the header Content-Type: %s", received(kind), accepted[0])
}

// longestKind is longer, in bytes, than any media type that clients send by mistake.
const longestKind = 60

// received returns the part of a message that names the media type of a request, "" if it
// is not safe to repeat.
func received(kind string) string {
	if len(kind) > longestKind || holdsKey(kind) || strings.Count(kind, "/") != 1 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789.+-/") != "" {
		return ""
	}
	return ", and its Content-Type is " + kind
}

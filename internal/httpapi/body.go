package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

// maxBody is the maximum size of a body in bytes.
const maxBody = 1 << 20

// smallBody is the maximum initial size of a body's buffer in bytes, enough for most bodies. A
// larger buffer grows with the received bytes, not with the Content-Length, and within BodyBytes.
const smallBody = 4 << 10

// withBody returns a handler that checks the headers, reads the body and calls next. mediaTypes are
// the accepted media types. It returns the errors 413, 415, 408 and 400.
func withBody(s *Server, mediaTypes []string, next func(e *exchange, body []byte) error) handler {
	return func(e *exchange) error {
		if e.r.ContentLength > maxBody {
			return bodyTooLarge()
		}
		if err := e.checkMediaType(mediaTypes); err != nil {
			return err
		}
		defer func() { s.bodies.Release(e.sender(), e.bodyTaken) }()
		body, err := s.readBody(e)
		if err != nil {
			return err
		}
		return next(e, body)
	}
}

// sender is the account whose share of BodyBytes a body uses, or 0 for the share of all clients without a
// key.
func (e *exchange) sender() petcat.AccountID {
	if e.caller == nil {
		return 0
	}
	return e.caller.Account
}

func bodyTooLarge() error {
	return petcat.Errorf(petcat.CodeBodyTooLarge, "the body must be at most %d bytes", maxBody)
}

// The media types of bodies. A JSON merge patch (RFC 7396) has the syntax of JSON, so both are
// accepted for it.
//
//nolint:gochecknoglobals // never changed
var (
	asJSON       = []string{"application/json"}
	asMergePatch = []string{"application/merge-patch+json", "application/json"}
)

// checkMediaType returns the error 415 unless the request has an accepted media type, with any
// parameters, or no Content-Type. The error recommends the first accepted type.
func (e *exchange) checkMediaType(accepted []string) error {
	codings := strings.Join(e.r.Header["Content-Encoding"], ",")
	for coding := range strings.SplitSeq(codings, ",") {
		if coding = strings.Trim(coding, " \t"); coding != "" && !strings.EqualFold(coding, "identity") {
			// The accepted content coding (RFC 9110, section 15.5.16).
			e.set("Accept-Encoding", "identity")
			return petcat.Errorf(petcat.CodeUnsupportedMediaType, "the body must be sent without a Content-Encoding")
		}
	}
	kinds := e.r.Header["Content-Type"]
	if len(kinds) == 0 || len(kinds) == 1 && kinds[0] == "" {
		return nil
	}
	kind, _, _ := strings.Cut(kinds[0], ";")
	if len(kinds) == 1 && slices.Contains(accepted, strings.ToLower(strings.Trim(kind, " \t"))) {
		return nil
	}
	if e.Method == http.MethodPatch {
		e.set("Accept-Patch", strings.Join(accepted, ", ")) // RFC 5789, section 3.1
	}
	return petcat.Errorf(petcat.CodeUnsupportedMediaType,
		"the body must be JSON; send exactly one Content-Type header: %s", accepted[0])
}

// readBody reads the whole body.
func (s *Server) readBody(e *exchange) ([]byte, error) {
	size := int64(smallBody)
	if announced := e.r.ContentLength; announced >= 0 {
		size = min(size, announced+1) // room for the read that finds the end
	}
	body := make([]byte, 0, size)
	for {
		if len(body) == cap(body) {
			// One byte over the maximum, for the read that returns io.EOF.
			size := min(2*cap(body), maxBody+1)
			more := int64(size - cap(body))
			if !s.bodies.Take(e.sender(), more) {
				return nil, petcat.Errorf(petcat.CodeServiceUnavailable,
					"too many large request bodies are in flight; retry later")
			}
			e.bodyTaken += more
			body = append(make([]byte, 0, size), body...)
		}
		n, err := e.r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > maxBody:
			return nil, bodyTooLarge()
		case err != nil:
			e.bodyOver = true
			return body, readError(err)
		}
	}
}

// readError converts the error of a read. io.EOF becomes nil.
func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return petcat.Errorf(petcat.CodeRequestTimeout,
			"the body did not arrive in time; send all of it at once").WithCause(err)
	default:
		return petcat.Errorf(petcat.CodeInvalidBody, "the body is incomplete; send it again").WithCause(err)
	}
}

// The rest of a rejected body is read before the response, up to discardBytes and for discardTime.
// Many clients send the whole body before they read, and would otherwise see a reset connection.
const (
	discardBytes = 8 << 20
	discardTime  = time.Second
)

// discardBody reads the rest of a rejected body. A client that sent Expect waits for 100 Continue, and
// does not send a body after a final response.
func (e *exchange) discardBody() {
	if e.r.ContentLength == 0 || e.bodyOver || e.r.Header["Expect"] != nil {
		return
	}
	// Socket deadlines follow the system clock. The call fails only if the reader does not support
	// deadlines.
	_ = http.NewResponseController(e.w).SetReadDeadline(clock.Deadline(discardTime))
	// If the body is longer, net/http closes the connection after the response.
	_, _ = io.CopyN(io.Discard, e.r.Body, discardBytes)
}

// members are the members of all request bodies, nil if absent. Unknown members are ignored.
type members struct {
	Name        jsontext.Value `json:"name"`
	Description jsontext.Value `json:"description"`
	Category    jsontext.Value `json:"category_id"`
	Pet         jsontext.Value `json:"pet_id"`
	Quantity    jsontext.Value `json:"quantity"`
	Overlap     jsontext.Value `json:"overlap"`

	err error // the first error
}

// readMembers parses a JSON object strictly: case-sensitive names, no duplicate members, valid UTF-8, and
// the object must be the whole body.
func readMembers(body []byte) *members {
	m := new(members)
	var target any = m
	object := jsontext.Value(body).Kind() == '{'
	if !object {
		target = new(jsontext.Value) // a syntax error takes precedence
	}
	err := json.Unmarshal(body, target)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		m.err = petcat.Errorf(petcat.CodeMalformedJSON, `the body is empty; send a JSON object such as {"name": "dog"}`)
	case err != nil:
		m.err = malformed(body, err)
	case !object:
		m.err = petcat.Errorf(petcat.CodeInvalidBody, `the body must be a JSON object such as {"name": "dog"}`)
	}
	return m
}

// malformed returns the error for invalid JSON. It does not repeat any of the text.
func malformed(body []byte, err error) error {
	message := "the body is not well-formed JSON in UTF-8"
	syntax, located := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "a member name appears twice in one object; send each once"
	case errors.Is(err, io.ErrUnexpectedEOF):
		message = "the body ends in the middle of the JSON text"
	case bytes.HasPrefix(body, []byte("\ufeff")):
		message = "the body begins with a byte order mark; send the JSON text without it"
	case located:
		if rest := body[min(syntax.ByteOffset, int64(len(body))):]; bytes.HasPrefix(rest, []byte(
			"'")) || bytes.HasPrefix(rest, []byte("“")) {
			message = `JSON names and strings must be in double quotes, such as {"name": "dog"}`
		}
		message += " (near byte " + strconv.FormatInt(syntax.ByteOffset, 10) + ")"
	}
	return petcat.Errorf(petcat.CodeMalformedJSON, "%s", message).WithCause(err)
}

// fail keeps the first error of a field.
func (m *members) fail(field, rule string) {
	if m.err == nil {
		m.err = petcat.Errorf(petcat.CodeInvalidField, "%s must be %s", field, rule).In(field)
	}
}

// text returns a member that must be a string.
func (m *members) text(field string, value jsontext.Value) *string {
	if value == nil {
		return nil
	}
	s, err := jsontext.AppendUnquote(nil, value)
	switch {
	case err != nil && field == "description":
		m.fail(field, "a string; leave it out if there is none")
	case err != nil:
		m.fail(field, "a string")
	}
	return new(string(s))
}

// whole returns a member that must be a whole number, such as 1, 1.0 or 1e0.
func whole[T ~int64](m *members, field string, value jsontext.Value) *T {
	if value == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		const exact = 1 << 53 // below it, a float64 can represent every whole number
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
			m.fail(field, "a whole number")
		}
		n = int64(f)
	}
	return new(T(n))
}

func decodeNewCategory(body []byte) (petcat.NewCategory, error) {
	m := readMembers(body)
	n, err := petcat.ParseNewCategory(m.text("name", m.Name), m.text("description", m.Description))
	return n, cmp.Or(m.err, err)
}

// decodeCategoryPatch parses a merge patch, in which null removes a member.
func decodeCategoryPatch(body []byte) (petcat.CategoryPatch, error) {
	m := readMembers(body)
	removeDescription := m.Description.Kind() == 'n'
	if removeDescription {
		m.Description = nil
	}
	p, err := petcat.ParseCategoryPatch(m.text("name", m.Name), m.text("description", m.Description), removeDescription)
	return p, cmp.Or(m.err, err)
}

func decodeNewPet(body []byte) (petcat.NewPet, error) {
	m := readMembers(body)
	n, err := petcat.ParseNewPet(m.text("name", m.Name), whole[petcat.CategoryID](m, "category_id", m.Category))
	return n, cmp.Or(m.err, err)
}

func decodeNewOrder(body []byte) (petcat.NewOrder, error) {
	m := readMembers(body)
	n, err := petcat.ParseNewOrder(whole[petcat.PetID](m, "pet_id", m.Pet), whole[int64](m, "quantity", m.Quantity))
	return n, cmp.Or(m.err, err)
}

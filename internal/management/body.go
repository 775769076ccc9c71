package management

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// maxBody is the maximum size of a body in bytes. No valid body comes close.
const maxBody = 64 << 10

// read decodes the body, a JSON object without unknown members. An empty body is the same as {}.
func (c *call) read(into any) error {
	_, err := c.readBody(into)
	return err
}

// readEdit is read for a change, in which only some members may be null.
func (c *call) readEdit(into any, nullable ...string) error {
	body, err := c.readBody(into)
	if err != nil {
		return err
	}
	for name := range nullMembers(body) {
		if !slices.Contains(nullable, name) {
			return petcat.Errorf(petcat.CodeInvalidField, "%s must not be null; leave it out to keep it", name).In(name)
		}
	}
	return nil
}

func (c *call) readBody(into any) ([]byte, error) {
	if c.r.ContentLength == 0 {
		return nil, nil
	}
	media := strings.ToLower(c.r.Header.Get("Content-Type"))
	if media != "" && !strings.HasPrefix(media, "application/json") {
		return nil, petcat.Errorf(petcat.CodeUnsupportedMediaType, "send the body as application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return nil, bodyError(err)
	}
	return body, checkStrings(body)
}

// bodyError returns the error for a body that could not be read or decoded.
func bodyError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return petcat.Errorf(petcat.CodeBodyTooLarge, "the body must have at most %d bytes", maxBody)
	}
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return petcat.Errorf(petcat.CodeMalformedJSON,
			"the body must be one JSON object, in UTF-8 and without duplicate members").WithCause(err)
	}
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return petcat.Errorf(petcat.CodeInvalidBody, "the body could not be read; send it again").WithCause(err)
	}
	name := strings.TrimPrefix(string(wrong.JSONPointer), "/")
	switch {
	case name == "":
		return petcat.Errorf(petcat.CodeInvalidBody, "the body must be a JSON object")
	case errors.Is(err, json.ErrUnknownName):
		return petcat.Errorf(petcat.CodeInvalidField,
			"the body must not have the member %.64q; /admin/docs lists the members", name).In(name)
	default:
		return petcat.Errorf(petcat.CodeInvalidField,
			"%s has a value of another kind than /admin/docs says", name).In(name).WithCause(err)
	}
}

// nullMembers returns the names of the members of a JSON object whose value is null.
func nullMembers(object []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		decoder := jsontext.NewDecoder(bytes.NewReader(object))
		for {
			token, err := decoder.ReadToken()
			if err != nil { // the end
				return
			}
			if decoder.StackDepth() == 1 && token.Kind() == 'n' && !yield(decoder.StackPointer().LastToken()) {
				return
			}
		}
	}
}

// checkStrings is [web.CheckText] for all strings of a valid JSON text.
func checkStrings(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.ReadToken()
		if err != nil { // the end
			return nil //nolint:nilerr // the text is valid
		}
		if token.Kind() != '"' {
			continue
		}
		if err := web.CheckText(token.String()); err != nil {
			return err
		}
	}
}

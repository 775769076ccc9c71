package httpapi

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// decodeNewCategory reads a NewCategory.
func (b *bodyBuffer) decodeNewCategory() (petcat.NewCategory, error) {
	return decodeNewCategory(b.decoder(), b.data)
}

func decodeNewCategory(d *jsontext.Decoder, data []byte) (petcat.NewCategory, error) {
	o := readObject(d, data, "name", "description")
	name, description := o.text("name"), o.text("description")
	if o.err != nil {
		return petcat.NewCategory{}, o.err
	}
	return petcat.ParseNewCategory(name, description)
}

// decodeCategoryPatch reads a merge patch of a category: a null member removes the field.
func (b *bodyBuffer) decodeCategoryPatch() (petcat.CategoryPatch, error) {
	o := readObject(b.decoder(), b.data, "name", "description")
	undescribed := o.members["description"].Kind() == 'n'
	if undescribed {
		delete(o.members, "description")
	}
	name, description := o.text("name"), o.text("description")
	if o.err != nil {
		return petcat.CategoryPatch{}, o.err
	}
	return petcat.ParseCategoryPatch(name, description, undescribed)
}

// object has some members of a JSON object.
type object struct {
	members map[string]jsontext.Value
	err     error // what is wrong with the JSON text, else with the first wrong member that was asked for
}

// readObject reads a JSON text strictly: one object, exact member names, no member twice,
// valid UTF-8, nothing after it. It keeps the members with these names.
func readObject(d *jsontext.Decoder, body []byte, names ...string) (o object) {
	if d.PeekKind() != '{' {
		o.err = notAnObject(d, body)
		return o
	}
	o.members = make(map[string]jsontext.Value, len(names))
	_, err := d.ReadToken() // the brace
	for err == nil && d.PeekKind() != '}' {
		var name jsontext.Token
		if name, err = d.ReadToken(); err != nil {
			break
		}
		member := name.String()
		var value jsontext.Value
		if value, err = d.ReadValue(); err == nil && slices.Contains(names, member) {
			o.members[member] = value.Clone()
		}
	}
	if err == nil {
		_, err = d.ReadToken() // the brace
	}
	if err == nil {
		err = expectEnd(d)
	}
	if err != nil {
		o.err = malformed(err)
	}
	return o
}

// text returns a member that must be a string, nil if it was not sent.
func (o *object) text(name string) *string {
	raw, sent := o.members[name]
	if o.err != nil || !sent {
		return nil
	}
	if raw.Kind() != '"' {
		o.err = petcat.Errorf(petcat.CodeInvalidField, "%s must be a string", name)
		return nil
	}
	unquoted, _ := jsontext.AppendUnquote(nil, raw) // it was read as JSON
	value := string(unquoted)
	return &value
}

// whole returns a member that must be a whole number, nil if it was not sent. 1.0 and 1e0
// are whole numbers, too, as in JSON Schema.
func whole[T ~int64](o *object, name string) *T {
	raw, sent := o.members[name]
	if o.err != nil || !sent {
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil && raw.Kind() == '0' {
		var f float64
		if f, err = strconv.ParseFloat(string(raw), 64); err == nil && (f != math.Trunc(f) || math.Abs(f) > maxID) {
			err = strconv.ErrRange
		}
		n = int64(f)
	}
	if err != nil {
		o.err = petcat.Errorf(petcat.CodeInvalidField, "%s must be a whole number", name)
		return nil
	}
	value := T(n)
	return &value
}

func expectEnd(d *jsontext.Decoder) error {
	_, err := d.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		return errTrailing
	}
	return err
}

var errTrailing = errors.New("something follows the JSON object")

// notAnObject returns the error for a body that is empty, not JSON, or JSON but no object.
func notAnObject(d *jsontext.Decoder, body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return petcat.Errorf(petcat.CodeMalformedJSON, `the body is empty; send a JSON object such as {"name": "dog"}`)
	}
	err := d.SkipValue()
	if err == nil {
		err = expectEnd(d)
	}
	if err != nil {
		return malformed(err)
	}
	return petcat.Errorf(petcat.CodeInvalidBody, `the body must be a JSON object such as {"name": "dog"}`)
}

// tooDeep is the text of an error that the decoder does not export.
const tooDeep = "exceeded max depth"

// malformed says what is wrong with a JSON text without repeating any of it.
func malformed(err error) error {
	syntax, located := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return petcat.Errorf(petcat.CodeMalformedJSON, "a member name appears twice in one object; send each once").WithCause(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body ends in the middle of the JSON text").WithCause(err)
	case errors.Is(err, errTrailing):
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body must hold one JSON object and nothing after it")
	case located && syntax.Err.Error() == tooDeep:
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body nests objects and arrays more than 10000 deep").WithCause(err)
	case located:
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body is not well-formed JSON in UTF-8 (near byte %d)", syntax.ByteOffset).WithCause(err)
	default:
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body is not well-formed JSON in UTF-8").WithCause(err)
	}
}

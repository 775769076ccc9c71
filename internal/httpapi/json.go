package httpapi

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// decodeNewCategory reads a NewCategory.
func (b *bodyBuffer) decodeNewCategory() (petcat.NewCategory, error) {
	return decodeNewCategory(b.decoder(), b.data)
}

func decodeNewCategory(d *jsontext.Decoder, data []byte) (petcat.NewCategory, error) {
	var name, description text
	err := readObject(d, data, func(member []byte) (wrong, err error) {
		switch string(member) {
		case "name":
			return name.read(d, "name")
		case "description":
			return description.read(d, "description")
		default:
			return nil, d.SkipValue()
		}
	})
	if err != nil {
		return petcat.NewCategory{}, err
	}
	return petcat.ParseNewCategory(name.pointer(), description.pointer())
}

// decodeCategoryPatch reads a merge patch of a category: a null member removes the field.
func (b *bodyBuffer) decodeCategoryPatch() (petcat.CategoryPatch, error) {
	var name, description text
	undescribed := false
	d := b.decoder()
	err := readObject(d, b.data, func(member []byte) (wrong, err error) {
		switch string(member) {
		case "name":
			return name.read(d, "name")
		case "description":
			if d.PeekKind() == 'n' {
				undescribed = true
				return nil, d.SkipValue()
			}
			return description.read(d, "description")
		default:
			return nil, d.SkipValue()
		}
	})
	if err != nil {
		return petcat.CategoryPatch{}, err
	}
	return petcat.ParseCategoryPatch(name.pointer(), description.pointer(), undescribed)
}

// readObject reads a JSON text strictly: one object, exact member names, no member twice,
// valid UTF-8, nothing after it. It calls member for each member. member reads the value;
// wrong says that the value is JSON but invalid for the field, err that it is not JSON. An
// error of the JSON text itself is reported before the first error of a field.
func readObject(d *jsontext.Decoder, body []byte, member func(name []byte) (wrong, err error)) error {
	if kind := d.PeekKind(); kind != '{' {
		return notAnObject(d, body)
	}
	var fieldError error
	_, err := d.ReadToken() // the brace
	for err == nil && d.PeekKind() != '}' {
		var name []byte
		if name, err = readString(d); err != nil {
			break
		}
		var wrong error
		if wrong, err = member(name); fieldError == nil {
			fieldError = wrong
		}
	}
	if err == nil {
		_, err = d.ReadToken() // the brace
	}
	if err == nil {
		err = expectEnd(d)
	}
	if err != nil {
		return malformed(err)
	}
	return fieldError
}

// text is a member's value, if it was sent.
type text struct {
	value string
	sent  bool
}

func (t *text) pointer() *string {
	if !t.sent {
		return nil
	}
	return &t.value
}

// read reads the value. It returns wrong if the value is JSON but not a string, and err if
// it is not JSON.
func (t *text) read(d *jsontext.Decoder, field string) (wrong, err error) {
	if d.PeekKind() != '"' {
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
		return petcat.Errorf(petcat.CodeInvalidField, "%s must be a string", field), nil
	}
	raw, err := readString(d)
	if err != nil {
		return nil, err
	}
	t.value, t.sent = string(raw), true
	return nil, nil
}

// whole is a member's value that must be a whole number, if it was sent.
type whole[T ~int64] struct {
	value T
	sent  bool
}

func (n *whole[T]) pointer() *T {
	if !n.sent {
		return nil
	}
	return &n.value
}

// read reads the value, as [text.read] does.
func (n *whole[T]) read(d *jsontext.Decoder, field string) (wrong, err error) {
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	value, notWhole := strconv.ParseInt(string(raw), 10, 64) // also fails for other kinds of values
	if notWhole != nil {
		return petcat.Errorf(petcat.CodeInvalidField, "%s must be a whole number, in digits alone", field), nil
	}
	n.value, n.sent = T(value), true
	return nil, nil
}

// readString reads a string: a member's name or its value. The result is valid until the
// next read, because strings without escapes are not copied.
func readString(d *jsontext.Decoder) ([]byte, error) {
	quoted, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	return jsontext.AppendUnquote(nil, quoted)
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

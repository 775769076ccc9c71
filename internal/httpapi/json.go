package httpapi

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// decodeNewCategory reads a NewCategory. Strictly: one object, exact member
// names, no member twice, valid UTF-8, nothing after it. Members that are not
// known are passed over. Whatever is wrong with the JSON itself is told before
// what is wrong with a field.
func decodeNewCategory(body []byte) (petcat.NewCategory, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if kind := d.PeekKind(); kind != '{' {
		return petcat.NewCategory{}, notAnObject(d, body)
	}
	var name, description *string
	var fieldError error
	_, err := d.ReadToken() // the brace
	for err == nil && d.PeekKind() != '}' {
		var member jsontext.Token
		if member, err = d.ReadToken(); err != nil {
			break
		}
		var text *string
		var wrong error
		switch member.String() {
		case "name":
			text, wrong, err = readText(d, "name")
			name = text
		case "description":
			text, wrong, err = readText(d, "description")
			description = text
		default:
			err = d.SkipValue()
		}
		if fieldError == nil {
			fieldError = wrong
		}
	}
	if err == nil {
		_, err = d.ReadToken() // the brace
	}
	if err == nil {
		err = expectEnd(d)
	}
	switch {
	case err != nil:
		return petcat.NewCategory{}, malformed(err)
	case fieldError != nil:
		return petcat.NewCategory{}, fieldError
	}
	return petcat.ParseNewCategory(name, description)
}

// readText reads a member's value. That it is JSON but not a string is wrong;
// that it is not JSON is err.
func readText(d *jsontext.Decoder, field string) (text *string, wrong, err error) {
	if d.PeekKind() != '"' {
		if err := d.SkipValue(); err != nil {
			return nil, nil, err
		}
		return nil, petcat.Errorf(petcat.CodeInvalidField, "%s must be a string", field), nil
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, nil, err
	}
	s := token.String()
	return &s, nil, nil
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

// notAnObject tells apart a body that is some other JSON, no JSON, or nothing.
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

// malformed says what is wrong with a JSON text without repeating any of it.
func malformed(err error) error {
	syntax, located := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return petcat.Errorf(petcat.CodeMalformedJSON, "a member name appears twice in one object; send each once").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body ends in the middle of the JSON text").Because(err)
	case errors.Is(err, errTrailing):
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body must hold one JSON object and nothing after it")
	case located:
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body is not well-formed JSON in UTF-8 (near byte %d)", syntax.ByteOffset).Because(err)
	default:
		return petcat.Errorf(petcat.CodeMalformedJSON, "the body is not well-formed JSON in UTF-8").Because(err)
	}
}

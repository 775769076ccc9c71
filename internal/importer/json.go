package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readLines reads one object from each line. Empty lines are skipped.
func (f *file) readLines(text []byte) {
	line := 0
	for object := range bytes.Lines(text) {
		if line++; len(bytes.TrimSpace(object)) > 0 {
			f.addObject(object, line)
		}
	}
}

// readArray reads the elements of one array.
func (f *file) readArray(text []byte) error {
	// An error in one row must be an error of that row only.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() == '{' {
		return errors.New("the file holds an object instead of an array of objects; if it has one object a line, its format is jsonl")
	}
	token, err := d.ReadToken()
	if err == nil && token.Kind() != '[' {
		return errors.New("the file holds no array of objects")
	}
	line, counted := 1, int64(0)
	for err == nil && d.PeekKind() != ']' {
		var value jsontext.Value
		if value, err = d.ReadValue(); err == nil {
			begin := d.InputOffset() - int64(len(value))
			line += bytes.Count(text[counted:begin], []byte("\n"))
			counted = begin
			f.addObject(value, line)
		}
	}
	if err == nil {
		_, err = d.ReadToken() // the end of the array
	}
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		return errors.New("something follows the array")
	}
	return arrayError(err, text)
}

// arrayError says where a file is no longer valid JSON.
func arrayError(err error, text []byte) error {
	syntax, bad := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the file ends in the middle of the JSON array")
	case bad:
		line := 1 + bytes.Count(text[:syntax.ByteOffset], []byte("\n"))
		return fmt.Errorf("the file is not well-formed JSON in line %d: %w", line, syntax.Err)
	default: // io.EOF
		return errors.New("the file is empty; it must hold an array of objects")
	}
}

// addObject adds the row of one object.
func (f *file) addObject(value []byte, line int) {
	var object struct {
		ID          jsontext.Value `json:"id"` // ignored
		Name        *string        `json:"name"`
		Description *string        `json:"description"` // many programs write null for none
	}
	err := json.Unmarshal(value, &object, json.RejectUnknownMembers(true))
	semantic, _ := errors.AsType[*json.SemanticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f.refuse(line, "a member is there twice")
	case errors.Is(err, json.ErrUnknownName):
		f.refuse(line, "the member %q is unknown; the members are %s", semantic.JSONPointer.LastToken(), fields)
	case semantic != nil && semantic.JSONPointer == "":
		f.refuse(line, `the row must be an object such as {"name": "dog"}`)
	case semantic != nil:
		f.refuse(line, "%s must be a string", semantic.JSONPointer.LastToken())
	case err != nil:
		f.refuse(line, "the row is not one well-formed JSON object in UTF-8")
	case object.Name == nil:
		f.refuse(line, "name is required")
	case object.Description == nil:
		f.rows = append(f.rows, Row{Line: line, Name: *object.Name})
	default:
		f.rows = append(f.rows, Row{Line: line, Name: *object.Name, Description: *object.Description})
	}
}

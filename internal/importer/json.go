package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readLines reads one object from each line. Empty lines are skipped.
func (f *file) readLines(text []byte) {
	line := 0
	for object := range bytes.Lines(text) {
		if line++; len(bytes.TrimSpace(object)) > 0 {
			f.addObject(object, Row{Line: line})
		}
	}
}

// readArray reads the elements of one array.
func (f *file) readArray(text []byte) error {
	// An error in one row must be an error of that row only.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	row, counted := Row{Line: 1}, int64(0)
	token, err := d.ReadToken()
	if err == nil && token.Kind() != '[' {
		err = errors.New("it begins otherwise")
	}
	for err == nil && d.PeekKind() != ']' {
		var value jsontext.Value
		if value, err = d.ReadValue(); err == nil {
			begin := d.InputOffset() - int64(len(value))
			row.Line += bytes.Count(text[counted:begin], []byte("\n"))
			row.Element++
			counted = begin
			f.addObject(value, row)
		}
	}
	if err == nil {
		_, err = d.ReadToken() // the end of the array
	}
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("something follows it")
	}
	offset := d.InputOffset()
	if syntax, bad := errors.AsType[*jsontext.SyntacticError](err); bad {
		offset, err = syntax.ByteOffset, syntax.Err
	}
	line := 1 + bytes.Count(text[:offset], []byte("\n"))
	return fmt.Errorf("it is not one JSON array of objects (line %d: %w); if it has one object a line, its format is jsonl", line, err)
}

// addObject adds what an object says to a row, and the row to the file.
func (f *file) addObject(value []byte, row Row) {
	var object struct {
		ID          jsontext.Value `json:"id"`
		Name        *string        `json:"name"`
		Description jsontext.Value `json:"description"` // many programs write null for none
	}
	err := json.Unmarshal(value, &object, json.RejectUnknownMembers(true))
	semantic, _ := errors.AsType[*json.SemanticError](err)
	description, message := object.Description.Kind(), ""
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "a member is there twice"
	case errors.Is(err, json.ErrUnknownName):
		message = fmt.Sprintf("the member %q is unknown; the members are %s", semantic.JSONPointer.LastToken(), fields)
	case semantic != nil && semantic.JSONPointer == "":
		message = `the row must be an object such as {"name": "dog"}`
	case semantic != nil:
		message = "name must be a string"
	case err != nil:
		message = "the row is not one well-formed JSON object in UTF-8"
	case object.Name == nil:
		message = "name is required"
	case description != 0 && description != 'n' && description != '"':
		message = "description must be a string"
	}
	if message != "" {
		f.refuse(row, "%s", message)
		return
	}
	row.Name, row.NoDescription = *object.Name, description == 0
	if description == '"' {
		_ = json.Unmarshal(object.Description, &row.Description) // it was read before
	}
	if object.ID.Kind() != 'n' {
		row.ID = strings.Trim(string(object.ID), `"`)
	}
	f.rows = append(f.rows, row)
}

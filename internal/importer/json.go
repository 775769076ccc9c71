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

// readLines reads one object per line. It skips empty lines.
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
	// Errors in a row must not stop the decoder.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	row, counted := Row{Line: 1}, int64(0)
	token, err := d.ReadToken()
	if err == nil && token.Kind() != '[' {
		err = errors.New("it does not begin with [")
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
		err = errors.New("text follows the array")
	}
	offset := d.InputOffset()
	if syntax, bad := errors.AsType[*jsontext.SyntacticError](err); bad {
		offset, err = syntax.ByteOffset, syntax.Err
	}
	line := 1 + bytes.Count(text[:offset], []byte("\n"))
	return fmt.Errorf(
		"it is not one JSON array of objects (line %d: %w); if it has one object per line, the format is jsonl",
		line, err)
}

// addObject completes a row from its JSON object, and adds it to the file.
func (f *file) addObject(value []byte, row Row) {
	var object struct {
		ID          jsontext.Value `json:"id"`
		Name        *string        `json:"name"`
		Description jsontext.Value `json:"description"` // null means none
	}
	err := json.Unmarshal(value, &object, json.RejectUnknownMembers(true))
	semantic, _ := errors.AsType[*json.SemanticError](err)
	description, message := object.Description.Kind(), ""
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "a member occurs twice"
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
		f.reject(row, "%s", message)
		return
	}
	row.Name, row.NoDescription = *object.Name, description == 0
	if description == '"' {
		_ = json.Unmarshal(object.Description, &row.Description) // already decoded
	}
	if object.ID.Kind() != 'n' {
		row.ID = strings.Trim(string(object.ID), `"`)
	}
	f.rows = append(f.rows, row)
}

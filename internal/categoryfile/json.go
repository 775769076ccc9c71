package categoryfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxLine is twice the size of the largest body that the service accepts, in bytes.
const maxLine = 2 << 20

// lineRows reads one object from each line. Empty lines are skipped.
func lineRows(in *bufio.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for line := 1; ; line++ {
			text, err := in.ReadSlice('\n')
			long := errors.Is(err, bufio.ErrBufferFull)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			empty := len(bytes.TrimSpace(text)) == 0
			switch {
			case err != nil && !errors.Is(err, io.EOF):
				yield(Row{}, err)
				return
			case long:
				if !yield(Row{}, rowErrorf(line, "the line is longer than %d bytes", maxLine)) {
					return
				}
			case !empty:
				if !yield(decodeRow(text, line)) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// arrayRows reads the elements of one array.
func arrayRows(in io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		lines := &lineCounter{Reader: in}
		// An error in one row must be an error of that row only.
		d := jsontext.NewDecoder(lines, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if kind := d.PeekKind(); kind == '{' {
			yield(Row{}, errors.New("the file holds an object instead of an array of objects; if it has one object a line, its format is jsonl"))
			return
		}
		token, err := d.ReadToken()
		if err == nil && token.Kind() != '[' {
			err = errors.New("the file holds no array of objects")
		}
		for err == nil && d.PeekKind() != ']' {
			var value jsontext.Value
			if value, err = d.ReadValue(); err != nil {
				break
			}
			row, bad := decodeRow(value, lines.at(d.InputOffset()-int64(len(value))))
			if !yield(row, bad) {
				return
			}
		}
		if err == nil {
			err = endOfArray(d)
		}
		if err != nil {
			yield(Row{}, arrayError(err, lines, d.InputOffset()))
		}
	}
}

func endOfArray(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	switch _, err := d.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return errors.New("something follows the array")
	}
}

// arrayError says where a file is no longer valid JSON: nothing after that can be read.
func arrayError(err error, lines *lineCounter, offset int64) error {
	syntax, bad := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF) && offset == 0:
		return errors.New("the file is empty; it must hold an array of objects")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the file ends in the middle of the JSON array")
	case bad:
		return fmt.Errorf("the file is not well-formed JSON in line %d (%w), so nothing behind it was read", lines.at(syntax.ByteOffset), syntax.Err)
	default:
		return err
	}
}

// decodeRow reads one object.
func decodeRow(value []byte, line int) (Row, error) {
	var object struct {
		ID          jsontext.Value `json:"id"` // ignored
		Name        *string        `json:"name"`
		Description *string        `json:"description"` // many programs write null for none
	}
	err := json.Unmarshal(value, &object, json.RejectUnknownMembers(true))
	semantic, _ := errors.AsType[*json.SemanticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return Row{}, rowErrorf(line, "a member is there twice")
	case errors.Is(err, json.ErrUnknownName):
		return Row{}, rowErrorf(line, "the member %q is unknown; the members are %s", semantic.JSONPointer.LastToken(), fields)
	case semantic != nil && semantic.JSONPointer == "":
		return Row{}, rowErrorf(line, `the row must be an object such as {"name": "dog"}`)
	case semantic != nil:
		return Row{}, rowErrorf(line, "%s must be a string", semantic.JSONPointer.LastToken())
	case err != nil:
		return Row{}, rowErrorf(line, "the row is not one well-formed JSON object in UTF-8")
	case object.Name == nil:
		return Row{}, rowErrorf(line, "name is required")
	}
	row := Row{Line: line, Name: *object.Name}
	if object.Description != nil {
		row.Description = *object.Description
	}
	return row, nil
}

// lineCounter finds the line of an offset in what was read.
type lineCounter struct {
	io.Reader
	read   int64
	breaks []int64 // the offsets of the line breaks that were read and not passed
	passed int
}

func (c *lineCounter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	for i, char := range b[:n] {
		if char == '\n' {
			c.breaks = append(c.breaks, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// at returns the line of an offset. Offsets ascend from call to call.
func (c *lineCounter) at(offset int64) int {
	for len(c.breaks) > 0 && c.breaks[0] < offset {
		c.breaks = c.breaks[1:]
		c.passed++
	}
	return c.passed + 1
}

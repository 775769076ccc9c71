package catalog

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// objectStart is what every object begins with; its id follows.
const objectStart = `{"id":`

// AppendCategory appends the JSON object of a category to dst. It is the only
// encoder of categories, so that a category has the same bytes in a list, in
// the answer to its creation, and in a replay of that answer. It fails only on
// texts that are not valid UTF-8, which no constructor lets pass.
func AppendCategory(dst []byte, c petcat.Category) ([]byte, error) {
	dst = append(dst, objectStart...)
	dst = strconv.AppendInt(dst, int64(c.ID), 10)
	dst = append(dst, `,"name":`...)
	dst, err := jsontext.AppendQuote(dst, c.Name)
	if err != nil {
		return dst, err
	}
	if c.Description != nil {
		dst = append(dst, `,"description":`...)
		if dst, err = jsontext.AppendQuote(dst, *c.Description); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

package httpapi_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"petcat"
)

// opinion is a second opinion on a body for createCategory: the code of its
// refusal, or "" and the category's texts. It is made of the standard library's
// JSON, which is lax, and of what that lets pass: bytes that are not UTF-8,
// halves of surrogate pairs, members that come twice.
func opinion(body []byte) (code petcat.Code, name, description *string) {
	if len(body) > 1<<20 {
		return petcat.CodeBodyTooLarge, nil, nil
	}
	if !utf8.Valid(body) || !json.Valid(body) || !wholeSurrogates(string(body)) {
		return petcat.CodeMalformedJSON, nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // numbers may be too large for a float64
	if !uniqueMembers(d) {
		return petcat.CodeMalformedJSON, nil, nil
	}
	if bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
		return petcat.CodeInvalidBody, nil, nil
	}
	var members map[string]any
	d = json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		panic(err) // it is valid
	}
	texts := map[string]*string{}
	for _, field := range []string{"name", "description"} {
		value, sent := members[field]
		if !sent {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return petcat.CodeInvalidField, nil, nil
		}
		texts[field] = &text
	}
	name, description = texts["name"], texts["description"]
	switch {
	case name == nil:
		return petcat.CodeMissingField, nil, nil
	case !fits(*name, 1_000, ""), strings.TrimSpace(*name) == "", description != nil && !fits(*description, 10_000, "\t\r\n"):
		return petcat.CodeInvalidField, nil, nil
	}
	return "", name, description
}

// fits reports whether a text keeps to its length, and has no control
// characters but the allowed ones.
func fits(s string, longest int, allowed string) bool {
	for _, r := range s {
		if (r < 0x20 || r >= 0x7f && r < 0xa0) && !strings.ContainsRune(allowed, r) {
			return false
		}
	}
	return len([]rune(s)) <= longest
}

// wholeSurrogates reports whether every \u escape of a half of a surrogate pair
// has its other half, in a valid JSON text.
func wholeSurrogates(s string) bool {
	unit := func(i int) int64 {
		if i+6 > len(s) || s[i:i+2] != `\u` {
			return -1
		}
		n, err := strconv.ParseInt(s[i+2:i+6], 16, 32)
		if err != nil {
			return -1
		}
		return n
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		switch u := unit(i); {
		case u >= 0xdc00 && u < 0xe000:
			return false
		case u >= 0xd800 && u < 0xdc00:
			if low := unit(i + 6); low < 0xdc00 || low >= 0xe000 {
				return false
			}
			i += 11
		case u >= 0:
			i += 5
		default:
			i++
		}
	}
	return true
}

// uniqueMembers reads one value and reports whether no object in it has two
// members of one name.
func uniqueMembers(d *json.Decoder) bool {
	var open []map[string]bool // the objects around; nil for an array
	name := false              // the next string is a member's name
	for {
		token, err := d.Token()
		if err != nil {
			return true // the end: it is valid
		}
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{':
				open = append(open, map[string]bool{})
				name = true
				continue
			case '[':
				open = append(open, nil)
				name = false
				continue
			}
			open = open[:len(open)-1]
		case string:
			if name {
				members := open[len(open)-1]
				if members[v] {
					return false
				}
				members[v], name = true, false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}

package httpapi

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// members are the members of all bodies, nil if they were not sent. Others are ignored.
type members struct {
	Name        jsontext.Value `json:"name"`
	Description jsontext.Value `json:"description"`
	Category    jsontext.Value `json:"category_id"`
	Pet         jsontext.Value `json:"pet_id"`
	Quantity    jsontext.Value `json:"quantity"`

	err error // the first error
}

// readMembers reads a JSON object strictly: exact member names, no member twice, valid UTF-8,
// nothing after it.
func readMembers(body []byte) *members {
	m := new(members)
	var target any = m
	object := jsontext.Value(body).Kind() == '{'
	if !object {
		target = new(jsontext.Value) // an error of the JSON text itself comes first
	}
	err := json.Unmarshal(body, target)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		m.err = petcat.Errorf(petcat.CodeMalformedJSON, `the body is empty; send a JSON object such as {"name": "dog"}`)
	case err != nil:
		m.err = malformed(err)
	case !object:
		m.err = petcat.Errorf(petcat.CodeInvalidBody, `the body must be a JSON object such as {"name": "dog"}`)
	}
	return m
}

// malformed says what is wrong with a JSON text without repeating any of it.
func malformed(err error) error {
	message := "the body is not well-formed JSON in UTF-8"
	syntax, located := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "a member name appears twice in one object; send each once"
	case errors.Is(err, io.ErrUnexpectedEOF):
		message = "the body ends in the middle of the JSON text"
	case located:
		message += " (near byte " + strconv.FormatInt(syntax.ByteOffset, 10) + ")"
	}
	return petcat.Errorf(petcat.CodeMalformedJSON, "%s", message).WithCause(err)
}

// fail keeps the first error of a field.
func (m *members) fail(field, rule string) {
	if m.err == nil {
		m.err = petcat.Errorf(petcat.CodeInvalidField, "%s must be %s", field, rule)
	}
}

// text returns a member that must be a string.
func (m *members) text(field string, value jsontext.Value) *string {
	if value == nil {
		return nil
	}
	s, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		m.fail(field, "a string")
	}
	text := string(s)
	return &text
}

// whole returns a member that must be a whole number; 1.0 and 1e0 are whole, too.
func whole[T ~int64](m *members, field string, value jsontext.Value) *T {
	if value == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		const exact = 1 << 53 // below it, a float64 holds every whole number
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
			m.fail(field, "a whole number")
		}
		n = int64(f)
	}
	t := T(n)
	return &t
}

func decodeNewCategory(body []byte) (petcat.NewCategory, error) {
	m := readMembers(body)
	name, description := m.text("name", m.Name), m.text("description", m.Description)
	if m.err != nil {
		return petcat.NewCategory{}, m.err
	}
	return petcat.ParseNewCategory(name, description)
}

// decodeCategoryPatch reads a merge patch, in which null removes a member.
func decodeCategoryPatch(body []byte) (petcat.CategoryPatch, error) {
	m := readMembers(body)
	undescribed := m.Description.Kind() == 'n'
	if undescribed {
		m.Description = nil
	}
	name, description := m.text("name", m.Name), m.text("description", m.Description)
	if m.err != nil {
		return petcat.CategoryPatch{}, m.err
	}
	return petcat.ParseCategoryPatch(name, description, undescribed)
}

func decodeNewPet(body []byte) (petcat.NewPet, error) {
	m := readMembers(body)
	name, category := m.text("name", m.Name), whole[petcat.CategoryID](m, "category_id", m.Category)
	if m.err != nil {
		return petcat.NewPet{}, m.err
	}
	return petcat.ParseNewPet(name, category)
}

func decodeNewOrder(body []byte) (petcat.NewOrder, error) {
	m := readMembers(body)
	pet, quantity := whole[petcat.PetID](m, "pet_id", m.Pet), whole[int64](m, "quantity", m.Quantity)
	if m.err != nil {
		return petcat.NewOrder{}, m.err
	}
	return petcat.ParseNewOrder(pet, quantity)
}

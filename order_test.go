package petcat_test

import (
	"testing"

	"github.com/petcat-api/petcat"
)

func TestParseNewOrder(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	pet := petcat.PetID(3)
	for _, c := range []struct {
		name     string
		pet      *petcat.PetID
		quantity *int64
		code     petcat.Code
		message  string
	}{
		{"minimum", &pet, number(1), "", ""},
		{"maximum", &pet, number(petcat.MaxQuantity), "", ""},

		{"no pet", nil, number(1), petcat.CodeMissingField, "pet_id is required"},
		{"no quantity", &pet, nil, petcat.CodeMissingField, "quantity is required"},
		{"zero", &pet, number(0), petcat.CodeInvalidField, "quantity must be from 1 to 1000"},
		{"too many", &pet, number(petcat.MaxQuantity + 1), petcat.CodeInvalidField, "quantity must be from 1 to 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := petcat.ParseNewOrder(c.pet, c.quantity)
			wantRejected(t, err, c.code, c.message)
			if got := n.WithID(7); err == nil && got != (petcat.Order{ID: 7, Pet: pet, Quantity: *c.quantity}) {
				t.Errorf("order %+v", got)
			}
		})
	}
}

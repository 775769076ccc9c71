package httpapi_test

import (
	"fmt"
	"testing"

	"petcat"
)

func TestCreateOrder(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Pro))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key)), 201)
	const path = "/v1/store/orders"
	create := func(body string, changes ...request) *answer {
		t.Helper()
		return s.post(path, body, append([]request{withKey(key), withHeader("Content-Type", "application/json")}, changes...)...)
	}

	t.Run("201", func(t *testing.T) {
		for i, c := range []struct{ body, want string }{
			{`{"pet_id":1,"quantity":1}`, `{"id":1,"pet_id":1,"quantity":1}`},
			{`{"id":5,"quantity":1000,"Quantity":0,"pet_id":1,"note":"x"}`, `{"id":2,"pet_id":1,"quantity":1000}`},
			{`{"pet_id":1,"quantity":1}`, `{"id":3,"pet_id":1,"quantity":1}`},
		} {
			a := create(c.body)
			if a.StatusCode != 201 || string(a.body) != c.want {
				t.Errorf("%d: %d %s\nwant %s", i, a.StatusCode, a.body, c.want)
			}
			wantHeader(t, a, "Cache-Control", "no-store")
			wantHeader(t, a, "X-Stability", "experimental")
		}
		wantStatus(t, s.post(path, `{"pet_id":1,"quantity":1}`, withKey(other)), 201)
	})
	t.Run("201 replayed", func(t *testing.T) {
		once := withHeader("Idempotency-Key", "k")
		first := create(`{"pet_id":1,"quantity":2}`, once)
		again := create(` {"quantity":2,"pet_id":1}`, once)
		wantStatus(t, again, 201)
		wantHeader(t, first, "Idempotent-Replayed", "")
		wantHeader(t, again, "Idempotent-Replayed", "true")
		if string(again.body) != string(first.body) {
			t.Errorf("the replay says %s, the first answer said %s", again.body, first.body)
		}
	})

	for _, c := range []struct {
		name, body string
		code       petcat.Code
		message    string
	}{
		{"pet missing", `{"quantity":1}`, petcat.CodeMissingField, "pet_id is required"},
		{"quantity missing", `{"pet_id":1}`, petcat.CodeMissingField, "quantity is required"},
		{"too many", `{"pet_id":1,"quantity":1001}`, petcat.CodeInvalidField, "quantity must be from 1 to 1000"},
		{"pet unknown", `{"pet_id":2,"quantity":1}`, petcat.CodeInvalidField, "pet_id must be the id of a pet, and there is no pet 2"},
	} {
		t.Run("400 "+c.name, func(t *testing.T) {
			a := create(c.body, withHeader("Idempotency-Key", "refused"))
			wantError(t, a, 400, c.code)
			wantMessage(t, a, c.message)
		})
	}
	for _, value := range notWhole {
		t.Run("400 "+fmt.Sprintf("%.30s", value), func(t *testing.T) {
			for name, body := range map[string]string{"pet_id": `{"pet_id":%s,"quantity":1}`, "quantity": `{"quantity":%s,"pet_id":1}`} {
				a := create(fmt.Sprintf(body, value))
				wantError(t, a, 400, petcat.CodeInvalidField)
				wantMessage(t, a, name+" must be a whole number")
			}
		})
	}
}

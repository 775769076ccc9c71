package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/httpapi"
	"petcat/internal/store"
)

func (s *service) post(path, body string, changes ...request) *answer {
	s.t.Helper()
	return s.do("POST", path, strings.NewReader(body), changes...)
}

// hold keeps the store from writing until the function that it returns is called.
func (s *service) hold() (release func()) {
	s.t.Helper()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.store.Change(s.t.Context(), "hold", func(*store.Tx) error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	return func() {
		s.t.Helper()
		close(end)
		must(s.t, <-done)
	}
}

// wantOneInProgress sends the same request twice while nothing can be stored: one of
// them is refused, the other is carried out in the end.
func (s *service) wantOneInProgress(path, body string, changes ...request) {
	s.t.Helper()
	release := s.hold()
	answers := make(chan *answer, 2)
	for range 2 {
		go func() { answers <- s.post(path, body, changes...) }()
	}
	refused := <-answers
	release()
	wantError(s.t, refused, 409, petcat.CodeIdempotencyInProgress)
	wantHeader(s.t, refused, "Retry-After", "1")
	wantStatus(s.t, <-answers, 201)
}

// notWhole are values that a member must not have that is a whole number.
var notWhole = []string{`"1"`, `1.0`, `1e0`, `1E2`, `0.5`, `null`, `true`, `[1]`, `{"a":1}`, `9223372036854775808`, `-9223372036854775809`, `1` + strings.Repeat("0", 400)}

func TestCreatePet(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Enterprise, 100_000, 1_000_000))
	for range 3 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	}
	wantStatus(t, s.do("DELETE", "/v1/categories/3", nil, withKey(key)), 204)
	create := func(body string, changes ...request) *answer {
		t.Helper()
		return s.post("/v1/pets", body, append([]request{withKey(key), withHeader("Content-Type", "application/json")}, changes...)...)
	}
	odd := ` <&> \u2028 \"\\ 犬 `

	t.Run("201", func(t *testing.T) {
		for i, c := range []struct{ name, body, want string }{
			{"both", `{"name":"Rex","category_id":1}`, `{"id":1,"name":"Rex","category_id":1}`},
			{"an id that was sent is ignored", `{"id":77,"category_id":2,"name":"Rex"}`, `{"id":2,"name":"Rex","category_id":2}`},
			{"unknown members are ignored", `{"category_id":1,"name":"Rex","Name":5,"tag":[{}]}`, `{"id":3,"name":"Rex","category_id":1}`},
			{"the name as it was sent", `{"name":"` + odd + `","category_id":1}`, `{"id":4,"name":" <&> ` + "\u2028" + ` \"\\ 犬 ","category_id":1}`},
		} {
			a := create(c.body)
			if a.StatusCode != 201 || string(a.body) != c.want {
				t.Errorf("%d %s: %d %s\nwant %s", i, c.name, a.StatusCode, a.body, c.want)
			}
			wantHeader(t, a, "Content-Type", "application/json")
			wantHeader(t, a, "Cache-Control", "no-store")
			wantHeader(t, a, "X-Stability", "experimental")
			wantHeader(t, a, "Idempotent-Replayed", "")
		}
	})
	t.Run("201 in another account's category", func(t *testing.T) {
		wantStatus(t, create(`{"name":"Tom","category_id":2}`, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+other) }), 201)
	})

	for _, c := range []struct {
		name, body string
		code       petcat.Code
		message    string
	}{
		{"name missing", `{"category_id":1}`, petcat.CodeMissingField, "name is required"},
		{"category missing", `{"name":"Rex"}`, petcat.CodeMissingField, "category_id is required"},
		{"name null", `{"name":null,"category_id":1}`, petcat.CodeInvalidField, "name must be a string"},
		{"category deleted", `{"name":"Rex","category_id":3}`, petcat.CodeInvalidField, "there is no category 3"},
		{"category 2^63-1", `{"name":"Rex","category_id":9223372036854775807}`, petcat.CodeInvalidField, "there is no category 9223372036854775807"},
	} {
		t.Run("400 "+c.name, func(t *testing.T) {
			a := create(c.body, withHeader("Idempotency-Key", "refused")) // which a refusal does not use up
			wantError(t, a, 400, c.code)
			wantMessage(t, a, c.message)
		})
	}
	for _, value := range notWhole {
		t.Run("400 category "+fmt.Sprintf("%.30s", value), func(t *testing.T) {
			a := create(`{"name":"Rex","category_id":` + value + `}`)
			wantError(t, a, 400, petcat.CodeInvalidField)
			wantMessage(t, a, "category_id must be a whole number")
		})
	}
	t.Run("409", func(t *testing.T) {
		s.wantOneInProgress("/v1/pets", `{"name":"once","category_id":1}`, withKey(key), withHeader("Idempotency-Key", "parallel"))
	})
}

func TestCreatePetIdempotency(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Enterprise, 100_000, 1_000_000)
	key, _ := s.key(account)
	second, _ := s.key(account)
	stranger, _ := s.key(s.account("other", petcat.Pro))
	wantStatus(t, s.create(`{"name":"Rex"}`, withKey(key)), 201)
	once := withHeader("Idempotency-Key", "k")
	first := s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key), once)
	wantStatus(t, first, 201)

	t.Run("201 replayed", func(t *testing.T) {
		a := s.post("/v1/pets", ` {"category_id":1,"x":2,"name":"R\u0065x"}`, withKey(second), once)
		wantStatus(t, a, 201)
		wantHeader(t, a, "Idempotent-Replayed", "true")
		if string(a.body) != string(first.body) {
			t.Errorf("the replay says %s, the first answer said %s", a.body, first.body)
		}
	})
	t.Run("422 another body", func(t *testing.T) {
		for _, body := range []string{`{"name":"Max","category_id":1}`, `{"name":"Rex","category_id":2}`} {
			wantError(t, s.post("/v1/pets", body, withKey(key), once), 422, petcat.CodeIdempotencyKeyReused)
		}
	})
	t.Run("422 another operation", func(t *testing.T) {
		wantError(t, s.create(`{"name":"Rex"}`, withKey(key), once), 422, petcat.CodeIdempotencyKeyReused)
		wantError(t, s.post("/v1/store/orders", `{"pet_id":1,"quantity":1}`, withKey(key), once), 422, petcat.CodeIdempotencyKeyReused)
	})
	t.Run("201 another account", func(t *testing.T) {
		a := s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(stranger), once)
		wantStatus(t, a, 201)
		wantHeader(t, a, "Idempotent-Replayed", "")
	})
	t.Run("forgotten after 24 h", func(t *testing.T) {
		s.clock.Advance(24*time.Hour + time.Second)
		a := s.post("/v1/pets", `{"name":"Max","category_id":1}`, withKey(key), once)
		wantStatus(t, a, 201)
		wantHeader(t, a, "Idempotent-Replayed", "")
	})
}

// awayPets and awayOrders are stores whose database is away.
type awayPets struct{}

func (awayPets) CreatePet(context.Context, petcat.CreatePet) (petcat.CreatedPet, error) {
	return petcat.CreatedPet{}, errAway()
}

func (awayPets) FindPet(context.Context, petcat.PetID) (petcat.Pet, error) {
	return petcat.Pet{}, errAway()
}

func (awayPets) ListPets(context.Context, petcat.PetQuery) ([]petcat.Pet, error) {
	return nil, errAway()
}

type awayOrders struct{}

func (awayOrders) CreateOrder(context.Context, petcat.CreateOrder) (petcat.CreatedOrder, error) {
	return petcat.CreatedOrder{}, errAway()
}

func (awayOrders) ListOrders(context.Context, petcat.OrderQuery) ([]petcat.Order, error) {
	return nil, errAway()
}

func errAway() error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "the data cannot be reached")
}

// While the database is away, pets and orders are 503: nothing of them is in memory.
func TestPetsAndOrdersWithoutTheirDatabase(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Pets, o.Orders = awayPets{}, awayOrders{} })
	key, _ := s.key(s.account("acme", petcat.Pro))
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/v1/pets", ""},
		{"POST", "/v1/pets", `{"name":"Rex","category_id":1}`},
		{"GET", "/v1/pets/1", ""},
		{"GET", "/v1/store/orders", ""},
		{"POST", "/v1/store/orders", `{"pet_id":1,"quantity":1}`},
	} {
		a := s.do(c.method, c.path, strings.NewReader(c.body), withKey(key))
		wantError(t, a, 503, petcat.CodeServiceUnavailable)
		wantHeader(t, a, "Retry-After", "1")
		wantHeader(t, a, "X-Stability", "experimental")
	}
	wantStatus(t, s.list(withKey(key)), 200)
}

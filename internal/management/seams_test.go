package management_test

import (
	"context"
	"testing"

	"petcat"
)

// A: a key that was rotated without an overlap must stay dead.
func TestRotatedKeyStaysDead(t *testing.T) {
	s := start(t)
	s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`)
	s.call("POST", "/accounts/acme/keys", `{}`)
	if a := s.call("POST", "/keys/key_1/rotate", `{"overlap":"0s"}`); a.status != 201 {
		t.Fatal(a.status, a.object)
	}
	a := s.call("PATCH", "/keys/key_1", `{"expires_at":null}`)
	k, err := s.store.FindKey(t.Context(), 1)
	must(t, err)
	if k.State(s.clock.Read().Time()) == petcat.KeyActive {
		t.Errorf("PATCH answered %d, and the replaced key (successor %s) is active again", a.status, k.Successor)
	}
}

// raced changes the plan between the read and the write of a PATCH.
type raced struct {
	petcat.ManagementStore
	between func()
}

func (r *raced) EditAccount(ctx context.Context, by petcat.Author, id petcat.AccountID, e petcat.AccountEdit) (petcat.Result[petcat.Account], error) {
	if r.between != nil {
		r.between()
		r.between = nil
	}
	return r.ManagementStore.EditAccount(ctx, by, id, e)
}

// B: a PATCH of the name must not undo a concurrent change of the plan.
func TestLostPlan(t *testing.T) {
	s := start(t)
	s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`)
	pro, err := petcat.ParseSubscription("pro", 0, 0)
	must(t, err)
	s.server = s.serve(&raced{ManagementStore: s.store, between: func() {
		_, err := s.store.EditAccount(t.Context(), petcat.By("cli:other"), 1, petcat.EditPlan(pro))
		must(t, err)
	}})
	s.call("PATCH", "/accounts/acme", `{"name":"acme2"}`)
	a, err := s.store.FindAccount(t.Context(), "acct_1")
	must(t, err)
	if a.Plan != petcat.Pro {
		t.Errorf("another operator set pro; after a PATCH of the name the plan is %s", a.Plan)
	}
}

// C: a retried rotation must find the first one.
func TestRotateRetry(t *testing.T) {
	s := start(t)
	s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`)
	s.call("POST", "/accounts/acme/keys", `{}`)
	s.call("POST", "/keys/key_1/rotate", `{}`, "Idempotency-Key", "r1")
	if a := s.call("POST", "/keys/key_1/rotate", `{}`, "Idempotency-Key", "r1"); a.status != 201 {
		t.Errorf("the retry with the same Idempotency-Key: %d %v", a.status, a.object["message"])
	}
}

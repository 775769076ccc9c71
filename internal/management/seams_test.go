package management_test

import (
	"context"
	"testing"
	"time"

	"petcat"
)

// TestReplacedKeyStaysDead: nobody revives a replaced key or extends its overlap.
func TestReplacedKeyStaysDead(t *testing.T) {
	s := start(t)
	s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`)
	s.call("POST", "/accounts/acme/keys", `{}`)
	s.want(s.call("POST", "/keys/key_1/rotate", `{"overlap":"1h"}`), 201, "")
	s.want(s.call("PATCH", "/keys/key_1", `{"expires_at":null}`), 400, "invalid_field")
	s.want(s.call("PATCH", "/keys/key_1", `{"expires_at":"2027-03-14T14:00:00Z"}`), 400, "invalid_field")
	s.want(s.call("PATCH", "/keys/key_1", `{"label":"old","expires_at":"2027-03-14T12:30:00Z"}`), 200, "")
	s.clock.Advance(time.Hour)
	for _, expiry := range []string{`null`, `"2027-03-14T14:00:00Z"`} {
		s.want(s.call("PATCH", "/keys/key_1", `{"expires_at":`+expiry+`}`), 400, "invalid_field")
	}
	if k := s.call("GET", "/keys/key_1", ""); k.text("state") != "expired" || k.text("label") != "old" {
		t.Errorf("the replaced key is %v", k.object)
	}
}

// TestExpiredKeyIsExtended: operators extend a key that has expired and was not replaced.
func TestExpiredKeyIsExtended(t *testing.T) {
	s := start(t)
	s.call("POST", "/accounts", `{"name":"acme","plan":"free"}`)
	s.call("POST", "/accounts/acme/keys", `{"expires_at":"2027-03-14T13:00:00Z"}`)
	s.clock.Advance(time.Hour)
	for _, expiry := range []string{`"2027-03-15T00:00:00Z"`, `null`} {
		k := s.want(s.call("PATCH", "/keys/key_1", `{"expires_at":`+expiry+`}`), 200, "")
		if k.text("state") != "active" {
			t.Errorf("with the expiry %s, the key is %v", expiry, k.object)
		}
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

// TestLostPlan: a PATCH of the name must not undo a concurrent change of the plan.
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

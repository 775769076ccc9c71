package storetest

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func testAccounts(t *testing.T, open Open) {
	t.Run("created, found, listed", func(t *testing.T) {
		f := start(t, open)
		enterprise := subscription(t, "enterprise", 7, 1_000_000_000_000)
		a := must(f.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{
			Name:         "Zoo ' 犬",
			Subscription: enterprise,
		})).Value
		wantEqual(t, "the account", petcat.Account{
			ID:        1,
			Name:      "Zoo ' 犬",
			Plan:      petcat.Enterprise,
			Quota:     petcat.Quota{PerMinute: 7, PerDay: 1_000_000_000_000},
			Storage:   petcat.Enterprise.Storage(),
			CreatedAt: noon,
		}, a)
		b := f.account(t, "shop")
		c := f.account(t, "Café")
		for ref, want := range map[string]petcat.Account{
			"acct_1":     a,
			"Zoo ' 犬":    a,
			"shop":       b,
			"acct_2":     b,
			"ACCT_2":     b,
			"Café":       c,
			"Cafe\u0301": c,
		} {
			got := must(f.FindAccount(t.Context(), ref))
			wantEqual(t, "found by "+ref, want, got)
		}
		listed := collect(t, func(fn func(petcat.Account) error) error { return f.EachAccount(t.Context(), fn) })
		wantEqual(t, "listed", []petcat.Account{a, b, c}, listed)
	})
	t.Run("unknown accounts are not found", func(t *testing.T) {
		f := start(t, open)
		for _, ref := range []string{"nobody", "acct_1", ""} {
			_, err := f.FindAccount(t.Context(), ref)
			wantCode(t, err, petcat.CodeNotFound)
		}
		_, err := f.EditAccount(t.Context(), petcat.By(operator), 1, petcat.EditPlan(subscription(t, "pro", 0, 0)))
		wantCode(t, err, petcat.CodeNotFound)
		_, err = f.CloseAccount(t.Context(), petcat.By(operator), 1)
		wantCode(t, err, petcat.CodeNotFound)
	})
	t.Run("names of open accounts are unique", func(t *testing.T) {
		f := start(t, open)
		first := f.account(t, "zoo")
		_, err := f.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{
			Name:         "zoo",
			Subscription: subscription(t, "pro", 0, 0),
		})
		wantCode(t, err, petcat.CodeConflict)
		must(f.CloseAccount(t.Context(), petcat.By(operator), first.ID))
		second := f.account(t, "zoo")
		found := must(f.FindAccount(t.Context(), "zoo"))
		wantEqual(t, "found by name", second.ID, found.ID)
		must(f.CloseAccount(t.Context(), petcat.By(operator), second.ID))
		found = must(f.FindAccount(t.Context(), "zoo"))
		wantEqual(t, "found among closed accounts", second.ID, found.ID)
	})
	t.Run("external ids of open accounts are unique", func(t *testing.T) {
		f := start(t, open)
		create := func(name petcat.AccountName, external petcat.ExternalID) (petcat.Account, error) {
			n := petcat.NewAccount{
				Name:         name,
				Subscription: subscription(t, "free", 0, 0),
				ExternalID:   external,
			}
			return value(f.CreateAccount(t.Context(), petcat.By(operator), n))
		}
		edit := func(id petcat.AccountID, external petcat.ExternalID) (petcat.Account, error) {
			return value(f.EditAccount(t.Context(), petcat.By(operator), id, petcat.AccountEdit{ExternalID: &external}))
		}
		selected := func() []petcat.Account {
			return must(f.AccountPage(t.Context(), petcat.AccountQuery{ExternalID: "C-1", Limit: 9}))
		}
		first := must(create("zoo", "C-1"))
		wantEqual(t, "the external id", "C-1", first.ExternalID)
		_, err := create("shop", "C-1")
		wantCode(t, err, petcat.CodeConflict)
		second := must(create("shop", ""))
		must(create("farm", "")) // several accounts have none
		_, err = edit(second.ID, "C-1")
		wantCode(t, err, petcat.CodeConflict)
		wantEqual(t, "selected", []petcat.Account{first}, selected())
		first = must(f.CloseAccount(t.Context(), petcat.By(operator), first.ID)).Value
		second = must(edit(second.ID, "C-1"))
		wantEqual(t, "selected with the closed account", []petcat.Account{second, first}, selected())
		must(edit(second.ID, ""))
		lines := f.auditLines(t)
		wantEqual(t, "the audit entry", `cli:ada account.set_external_id acct_2 {"from":"C-1","to":""}`, lines[len(lines)-1])
	})
	t.Run("rename", func(t *testing.T) {
		f := start(t, open)
		a, other := f.account(t, "zoo"), f.account(t, "shop")
		renamed := must(f.EditAccount(t.Context(), petcat.By(operator), a.ID, petcat.EditName("aquarium"))).Value
		a.Name = "aquarium"
		wantEqual(t, "the result", a, renamed)
		found := must(f.FindAccount(t.Context(), "aquarium"))
		wantEqual(t, "the stored account", a, found)
		again := must(f.EditAccount(t.Context(), petcat.By(operator), a.ID, petcat.EditName("aquarium"))).Value
		wantEqual(t, "rename to the same name", a, again)
		_, err := f.EditAccount(t.Context(), petcat.By(operator), a.ID, petcat.EditName("shop"))
		wantCode(t, err, petcat.CodeConflict)
		must(f.CloseAccount(t.Context(), petcat.By(operator), other.ID))
		_, err = f.EditAccount(t.Context(), petcat.By(operator), other.ID, petcat.EditName("store"))
		wantCode(t, err, petcat.CodeConflict)
		_, err = f.EditAccount(t.Context(), petcat.By(operator), 99, petcat.EditName("nobody"))
		wantCode(t, err, petcat.CodeNotFound)
	})
	t.Run("name and plan change together, and apart", func(t *testing.T) {
		f := start(t, open)
		a := f.account(t, "zoo")
		name, pro := petcat.AccountName("aquarium"), petcat.Pro
		edit := petcat.AccountEdit{Name: &name, Plan: &petcat.PlanEdit{Plan: &pro}}
		edited := must(f.EditAccount(t.Context(), petcat.By(operator), a.ID, edit))
		wantEqual(t, "the name", "aquarium", edited.Value.Name)
		wantEqual(t, "the plan", petcat.Pro, edited.Value.Plan)
		renamed := must(f.EditAccount(t.Context(), petcat.By(operator), a.ID, petcat.EditName("farm"))).Value
		wantEqual(t, "the plan after a new name", petcat.Pro, renamed.Plan)
		entries := len(f.audit(t))
		f.account(t, "shop")
		taken, business := petcat.AccountName("shop"), petcat.Business
		edit = petcat.AccountEdit{Name: &taken, Plan: &petcat.PlanEdit{Plan: &business}}
		_, err := f.EditAccount(t.Context(), petcat.By(operator), a.ID, edit)
		wantCode(t, err, petcat.CodeConflict)
		found := must(f.FindAccount(t.Context(), "farm"))
		wantEqual(t, "after an edit that failed", renamed, found)
		wantEqual(t, "audit entries", entries+1, len(f.audit(t)))
	})
	t.Run("closing is permanent and revokes keys", func(t *testing.T) {
		f := start(t, open)
		a, other := f.account(t, "zoo"), f.account(t, "shop")
		f.key(t, a.ID, 1)
		kept, _ := f.key(t, other.ID, 2)
		f.clock.Advance(time.Hour)
		closed := must(f.CloseAccount(t.Context(), petcat.By(operator), a.ID)).Value
		a.ClosedAt = noon.Add(time.Hour)
		wantEqual(t, "the result", a, closed)
		wantEqual(t, "when the key was revoked", noon.Add(time.Hour), f.keys(t, a.ID)[0].RevokedAt)
		wantEqual(t, "the other account's key", kept, f.keys(t, other.ID)[0])

		entries := len(f.audit(t))
		f.clock.Advance(time.Hour)
		again := must(f.CloseAccount(t.Context(), petcat.By(operator), a.ID)).Value
		wantEqual(t, "closed twice", a, again)
		wantEqual(t, "audit entries without a change", entries, len(f.audit(t)))

		_, err := f.EditAccount(t.Context(), petcat.By(operator), a.ID, petcat.EditPlan(subscription(t, "pro", 0, 0)))
		wantCode(t, err, petcat.CodeConflict)
		n, _, err := generator(3).NewKey(a.ID, petcat.KeyTerms{})
		must(n, err)
		_, err = f.CreateKey(t.Context(), petcat.By(operator), n)
		wantCode(t, err, petcat.CodeConflict)
	})
}

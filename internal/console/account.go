package console

import (
	"strings"

	"petcat"
	"petcat/internal/pages"
)

// accountsView is a page of accounts.
type accountsView struct {
	Sort     string // "" by name, or today's "requests" or "refusals"
	Accounts []petcat.AccountSummary
	Paged    bool // not the first page
	Next     *petcat.AccountSummary
}

func accounts(x *exchange) (err error) {
	v := accountsView{Sort: x.Value("sort")}
	q := petcat.AccountQuery{Limit: pages.Size + 1}
	if after, isID := petcat.ParseAccountRef(x.Value("after")); isID {
		last, err := x.Store.FindAccount(x.R.Context(), after.String())
		if err != nil {
			return err
		}
		q.After, v.Paged = petcat.AccountCursor{Name: last.Name, ID: last.ID}, true
	}
	if v.Sort == "requests" || v.Sort == "refusals" {
		v.Accounts, err = x.largest(v.Sort == "refusals")
	} else {
		v.Accounts, err = x.accounts(q)
	}
	if err != nil {
		return err
	}
	v.Accounts, v.Next = pages.Cut(v.Accounts)
	return x.Render("accounts", pages.View{Title: "Accounts", Section: "accounts", Data: v})
}

// accounts returns a page of accounts by name.
func (x *exchange) accounts(q petcat.AccountQuery) ([]petcat.AccountSummary, error) {
	page, err := x.Store.AccountPage(x.R.Context(), q)
	if err != nil {
		return nil, err
	}
	return summaries(x, page, func(a petcat.Account) petcat.AccountID { return a.ID })
}

// summaries returns the account of each row.
func summaries[T any](x *exchange, rows []T, of func(T) petcat.AccountID) ([]petcat.AccountSummary, error) {
	ids := make([]petcat.AccountID, len(rows))
	for i, row := range rows {
		ids[i] = of(row)
	}
	return x.Store.AccountSummaries(x.R.Context(), ids)
}

// largest returns the accounts with the most requests or refusals today.
func (x *exchange) largest(byRefused bool) ([]petcat.AccountSummary, error) {
	q := petcat.TopQuery{From: petcat.UsageByDay.Floor(x.now()), To: x.now(), ByRefused: byRefused, Limit: pages.Size}
	top, err := x.Store.TopAccounts(x.R.Context(), q)
	if err != nil {
		return nil, err
	}
	return summaries(x, top, func(u petcat.AccountUsage) petcat.AccountID { return u.Account })
}

// subscription parses the plan and the quotas of a form.
func (x *exchange) subscription() (petcat.Subscription, error) {
	perMinute, perDay, err := x.numbers()
	if err != nil {
		return petcat.Subscription{}, err
	}
	return petcat.ParseSubscription(x.Value("plan"), perMinute, perDay)
}

// numbers parses the quotas of the Enterprise plan.
func (x *exchange) numbers() (perMinute, perDay int64, err error) {
	if perMinute, err = x.number("per_minute", "the quota per minute"); err == nil {
		perDay, err = x.number("per_day", "the quota per day")
	}
	return perMinute, perDay, err
}

func createAccount(x *exchange) error {
	subscription, err := x.subscription()
	if err != nil {
		return err
	}
	name, err := petcat.ParseAccountName(x.Value("name"))
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := x.Store.CreateAccount(x.R.Context(), by, name, subscription)
	if err != nil {
		return err
	}
	return x.Made("accounts/"+made.Value.ID.String(), made.Replayed, "account")
}

// accountView is an account with a page of its keys.
type accountView struct {
	pages.KeyList

	Account petcat.Account
	Windows []pages.Window // nil if unknown
	Refused []petcat.Refusal
}

// findAccount returns the account in the path.
func findAccount(x *exchange) (petcat.Account, error) {
	id, isID := petcat.ParseAccountRef(x.R.PathValue("account"))
	if !isID {
		return petcat.Account{}, pages.NotFound()
	}
	return x.Store.FindAccount(x.R.Context(), id.String())
}

func account(x *exchange, a petcat.Account) (err error) {
	v := accountView{Account: a, Windows: x.Windows(x.Limiter, a)}
	if v.KeyList, err = x.KeyList(a.ID); err != nil {
		return err
	}
	if v.Refused, err = x.Store.Refusals(x.R.Context(), a.ID); err != nil {
		return err
	}
	return x.Render("account", pages.View{Title: a.Name, Section: "accounts", Data: v})
}

func changePlan(x *exchange, a petcat.Account) error {
	subscription, err := x.subscription()
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	edited, err := x.Store.EditAccount(x.R.Context(), by, a.ID, petcat.EditPlan(subscription))
	if err != nil {
		return err
	}
	return x.Made("accounts/"+a.ID.String(), edited.Replayed, "plan")
}

func confirmClose(x *exchange, a petcat.Account) error {
	return x.Confirm("accounts", pages.Confirmation{
		Question:    "Close the account " + pages.Isolate(a.Name) + " (" + a.ID.String() + ")?",
		Consequence: "All of its keys are revoked, and requests with them get 401 within a second. This cannot be undone. The name becomes free.",
		Action:      "accounts/" + a.ID.String() + "/close", Button: "Close the account", Back: "accounts/" + a.ID.String(), Typed: a.Name,
	})
}

func closeAccount(x *exchange, a petcat.Account) error {
	if x.Value("typed") != strings.TrimSpace(a.Name) {
		return petcat.Errorf(petcat.CodeInvalidField, "the typed text is not the account's name, so nothing was changed")
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	closed, err := x.Store.CloseAccount(x.R.Context(), by, a.ID)
	if err != nil {
		return err
	}
	return x.Made("accounts/"+a.ID.String(), closed.Replayed, "closed")
}

// id parses a numeric id, 0 for none.
func id(text string) int64 {
	n, _ := petcat.ParseID(text)
	return n
}

package console

import (
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// accountsView is a page of accounts.
type accountsView struct {
	Sort     string // "" by name, or today's "requests" or "rejections"
	Accounts []petcat.AccountSummary
	Paged    bool // not the first page
	Next     *petcat.AccountSummary
}

func (c *Console) accounts(x *pages.Exchange) error {
	switch sort := x.Value("sort"); sort {
	case "requests", "rejections":
		return c.largestAccounts(x, sort)
	default:
		return c.accountsByName(x)
	}
}

// accountsByName shows a page of all accounts.
func (c *Console) accountsByName(x *pages.Exchange) error {
	q := petcat.AccountQuery{Limit: pages.Size + 1}
	after, paged := petcat.ParseAccountRef(x.Value("after"))
	if paged {
		last, err := c.Store.FindAccount(x.R.Context(), after.String())
		if err != nil {
			return err
		}
		q.After = petcat.AccountCursor{Name: last.Name, ID: last.ID}
	}
	all, err := c.accountPage(x, q)
	if err != nil {
		return err
	}
	page, next := pages.Cut(all)
	return showAccounts(x, accountsView{
		Accounts: page,
		Paged:    paged,
		Next:     next,
	})
}

// largestAccounts shows the accounts with the most requests or rejections today.
func (c *Console) largestAccounts(x *pages.Exchange, sort string) error {
	top, err := c.Store.TopAccounts(x.R.Context(), petcat.TopQuery{
		From:       petcat.UsageByDay.Floor(c.now()),
		To:         c.now(),
		ByRejected: sort == "rejections",
		Limit:      pages.Size,
	})
	if err != nil {
		return err
	}
	ids := make([]petcat.AccountID, len(top))
	for i, u := range top {
		ids[i] = u.Account
	}
	all, err := c.Store.AccountSummaries(x.R.Context(), ids)
	if err != nil {
		return err
	}
	return showAccounts(x, accountsView{Sort: sort, Accounts: all})
}

func showAccounts(x *pages.Exchange, v accountsView) error {
	return x.Render("accounts", pages.View{
		Title:   "Accounts",
		Section: "accounts",
		Data:    v,
	})
}

// accountPage returns a page of accounts with their numbers.
func (c *Console) accountPage(x *pages.Exchange, q petcat.AccountQuery) ([]petcat.AccountSummary, error) {
	page, err := c.Store.AccountPage(x.R.Context(), q)
	if err != nil {
		return nil, err
	}
	ids := make([]petcat.AccountID, len(page))
	for i, a := range page {
		ids[i] = a.ID
	}
	return c.Store.AccountSummaries(x.R.Context(), ids)
}

// subscription parses the plan and the numbers of a form.
func subscription(x *pages.Exchange) (petcat.Subscription, error) {
	perMinute, perDay, err := quotas(x)
	if err != nil {
		return petcat.Subscription{}, err
	}
	categories, err := number(x, "max_categories", "the number of categories")
	if err != nil {
		return petcat.Subscription{}, err
	}
	bytes, err := number(x, "max_bytes", "the number of bytes")
	if err != nil {
		return petcat.Subscription{}, err
	}
	return petcat.ParseSubscription(
		x.Value("plan"),
		petcat.Quota{PerMinute: perMinute, PerDay: perDay},
		petcat.Storage{Categories: categories, Bytes: bytes},
	)
}

// quotas parses the quotas of the Enterprise plan.
func quotas(x *pages.Exchange) (perMinute, perDay int64, err error) {
	perMinute, err = number(x, "per_minute", "the quota per minute")
	if err != nil {
		return 0, 0, err
	}
	perDay, err = number(x, "per_day", "the quota per day")
	return perMinute, perDay, err
}

func (c *Console) createAccount(x *pages.Exchange) error {
	plan, err := subscription(x)
	if err != nil {
		return err
	}
	name, err := petcat.ParseAccountName(x.Value("name"))
	if err != nil {
		return err
	}
	external, err := petcat.ParseExternalID(x.Value("external_id"))
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := c.Store.CreateAccount(x.R.Context(), by, petcat.NewAccount{
		Name:         name,
		Subscription: plan,
		ExternalID:   external,
	})
	if err != nil {
		return err
	}
	return x.Made(accountPath(made.Value.ID), made.Replayed, "account")
}

func accountPath(id petcat.AccountID) string { return "accounts/" + id.String() }

// accountView is an account with a page of its keys.
type accountView struct {
	pages.KeyList

	Account  petcat.Account
	Pages    bool           // whether customers' pages are served
	Windows  []pages.Window // nil if unknown
	Stored   petcat.Storage
	Rejected []petcat.Rejection
}

// findAccount returns the account in the path.
func (c *Console) findAccount(x *pages.Exchange) (petcat.Account, error) {
	id, isID := petcat.ParseAccountRef(x.R.PathValue("account"))
	if !isID {
		return petcat.Account{}, pages.NotFound()
	}
	return c.Store.FindAccount(x.R.Context(), id.String())
}

func (c *Console) account(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	keys, err := x.KeyList(a.ID)
	if err != nil {
		return err
	}
	rejected, err := c.Store.Rejections(x.R.Context(), a.ID)
	if err != nil {
		return err
	}
	return x.Render("account", pages.View{
		Title:   a.Name,
		Section: "accounts",
		Data: accountView{
			KeyList:  keys,
			Account:  a,
			Pages:    c.CustomerLink != nil,
			Windows:  x.Windows(c.Limiter, a),
			Stored:   c.List.Holdings(a.ID).Account,
			Rejected: rejected,
		},
	})
}

// renameAccount changes the name and the external id.
func (c *Console) renameAccount(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	name, err := petcat.ParseAccountName(x.Value("name"))
	if err != nil {
		return err
	}
	edit := petcat.EditName(name)
	if x.R.Form.Has("external_id") {
		external, err := petcat.ParseExternalID(x.Value("external_id"))
		if err != nil {
			return err
		}
		edit.ExternalID = &external
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	edited, err := c.Store.EditAccount(x.R.Context(), by, a.ID, edit)
	if err != nil {
		return err
	}
	return x.Made(accountPath(a.ID), edited.Replayed, "renamed")
}

func (c *Console) changePlan(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	plan, err := subscription(x)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	edited, err := c.Store.EditAccount(x.R.Context(), by, a.ID, petcat.EditPlan(plan))
	if err != nil {
		return err
	}
	return x.Made(accountPath(a.ID), edited.Replayed, "plan")
}

func (c *Console) confirmClose(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	return x.Confirm("accounts", pages.Confirmation{
		Question: "Close the account " + pages.Isolate(a.Name) + " (" + a.ID.String() + ")?",
		Consequence: "All of its keys are revoked, and requests with them get 401 within a second. " +
			"This cannot be undone. The name becomes available again. " +
			"The account's categories, pets and orders stay; you can delete them on its page.",
		Action: accountPath(a.ID) + "/close",
		Button: "Close the account",
		Back:   accountPath(a.ID),
		Typed:  a.Name,
	})
}

// checkTyped returns an error if the user did not type the name of an account to confirm a change.
func checkTyped(x *pages.Exchange, a petcat.Account) error {
	if x.Value("typed") != strings.TrimSpace(a.Name) {
		return petcat.Errorf(petcat.CodeInvalidField,
			"the typed text is not the account's name, so nothing was changed")
	}
	return nil
}

func (c *Console) closeAccount(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	if err := checkTyped(x, a); err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	closed, err := c.Store.CloseAccount(x.R.Context(), by, a.ID)
	if err != nil {
		return err
	}
	return x.Made(accountPath(a.ID), closed.Replayed, "closed")
}

func (c *Console) confirmPurge(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	return x.Confirm("accounts", pages.Confirmation{
		Question: "Delete everything that " + pages.Isolate(a.Name) + " (" + a.ID.String() + ") created?",
		Consequence: "All categories, pets and orders that it has created are deleted. This cannot be undone. " +
			"Large accounts take minutes. If the deletion is interrupted, repeat it.",
		Action: accountPath(a.ID) + "/purge",
		Button: "Delete everything",
		Back:   accountPath(a.ID),
		Typed:  a.Name,
	})
}

func (c *Console) purgeAccount(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	if err := checkTyped(x, a); err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	purged, err := c.Store.PurgeAccount(x.R.Context(), by, a.ID)
	if err != nil {
		return err
	}
	return x.Made(accountPath(a.ID), purged.Replayed, "purged")
}

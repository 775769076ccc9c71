package management

import (
	"context"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

// AccountStore is the part of [petcat.AccountStore] that the API calls.
type AccountStore interface {
	FindAccount(ctx context.Context, ref string) (petcat.Account, error)
	AccountPage(ctx context.Context, q petcat.AccountQuery) ([]petcat.Account, error)
	CreateAccount(
		ctx context.Context, by petcat.Author, n petcat.NewAccount,
	) (petcat.Result[petcat.Account], error)
	EditAccount(
		ctx context.Context, by petcat.Author, id petcat.AccountID, e petcat.AccountEdit,
	) (petcat.Result[petcat.Account], error)
	CloseAccount(
		ctx context.Context, by petcat.Author, id petcat.AccountID,
	) (petcat.Result[petcat.Account], error)
	PurgeAccount(
		ctx context.Context, by petcat.Author, id petcat.AccountID,
	) (petcat.Result[petcat.Purge], error)
}

// account finds the account in the path, by id or name.
func (a *API) account(c *call) (petcat.Account, error) {
	return a.Store.FindAccount(c.ctx(), c.r.PathValue("account"))
}

// listAccounts handles GET /accounts.
func (a *API) listAccounts(c *call) error {
	q, err := a.accountQuery(c)
	if err != nil {
		return err
	}
	var accounts []petcat.Account
	if c.r.URL.Query().Has("name") {
		accounts, err = a.accountsNamed(c, c.query("name"), q)
	} else {
		accounts, err = a.Store.AccountPage(c.ctx(), q)
	}
	if err != nil {
		return err
	}
	if len(accounts) == q.Limit {
		c.linkNext(accounts[q.Limit-1].ID)
	}
	return okAll(c, accounts)
}

// accountQuery returns the requested page.
func (a *API) accountQuery(c *call) (q petcat.AccountQuery, err error) {
	if text := c.query("plan"); text != "" {
		q.Plan, err = petcat.ParsePlan(text)
		if err != nil {
			return q, err
		}
	}
	q.ExternalID, err = petcat.ParseExternalID(c.query("external_id"))
	if err != nil {
		return q, err
	}
	q.Limit, err = c.limit(petcat.MaxPage)
	if err != nil {
		return q, err
	}
	if ref := c.query("after"); ref != "" {
		last, err := a.Store.FindAccount(c.ctx(), ref)
		if err != nil {
			return q, err
		}
		q.After = petcat.AccountCursor{Name: last.Name, ID: last.ID}
	}
	return q, nil
}

// accountsNamed returns the account with a name if the query selects it. There is at most one: names
// are unique among open accounts.
func (a *API) accountsNamed(c *call, name string, q petcat.AccountQuery) ([]petcat.Account, error) {
	account, err := a.Store.FindAccount(c.ctx(), name)
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byID := account.Name != petcat.NormalizeName(name)
	before := account.ID == q.After.ID
	otherPlan := q.Plan != "" && q.Plan != account.Plan
	otherCustomer := q.ExternalID != "" && q.ExternalID != account.ExternalID
	if byID || before || otherPlan || otherCustomer {
		return nil, nil
	}
	return []petcat.Account{account}, nil
}

// getAccount handles GET /accounts/{account}.
func (a *API) getAccount(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	stored := a.Holdings(account.ID).Account
	return c.ok(append(representation.Account(account),
		representation.KV("categories", stored.Categories),
		representation.KV("bytes", stored.Bytes)))
}

// newAccountJSON is the body about a new account.
type newAccountJSON struct {
	Name      string `json:"name"`
	Plan      string `json:"plan"`
	PerMinute int64  `json:"per_minute"`
	PerDay    int64  `json:"per_day"`

	ExternalID string `json:"external_id"`
	// Only for the enterprise plan, like the quotas.
	MaxCategories int64 `json:"max_categories"`
	MaxBytes      int64 `json:"max_bytes"`
}

// createAccount handles POST /accounts.
func (a *API) createAccount(c *call) error {
	var body newAccountJSON
	if err := c.read(&body); err != nil {
		return err
	}
	name, err := petcat.ParseAccountName(body.Name)
	if err != nil {
		return err
	}
	subscription, err := petcat.ParseSubscription(
		body.Plan,
		petcat.Quota{PerMinute: body.PerMinute, PerDay: body.PerDay},
		petcat.Storage{Categories: body.MaxCategories, Bytes: body.MaxBytes},
	)
	if err != nil {
		return err
	}
	external, err := petcat.ParseExternalID(body.ExternalID)
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	made, err := a.Store.CreateAccount(c.ctx(), by, petcat.NewAccount{
		Name:         name,
		Subscription: subscription,
		ExternalID:   external,
	})
	if err != nil {
		return err
	}
	c.replayed(made.Replayed)
	return c.created("/accounts/"+made.Value.ID.String(), made.Value)
}

// accountEditJSON is the body of an account change. Members that were not sent are nil.
type accountEditJSON struct {
	Name      *string      `json:"name"`
	Plan      *petcat.Plan `json:"plan"`
	PerMinute *int64       `json:"per_minute"`
	PerDay    *int64       `json:"per_day"`
	// ExternalID is "" for none.
	ExternalID *string `json:"external_id"`

	MaxCategories *int64 `json:"max_categories"`
	MaxBytes      *int64 `json:"max_bytes"`
}

// editsPlan reports whether the plan or one of its numbers was sent.
func (b accountEditJSON) editsPlan() bool {
	return b.Plan != nil ||
		b.PerMinute != nil ||
		b.PerDay != nil ||
		b.MaxCategories != nil ||
		b.MaxBytes != nil
}

// parse validates a new name and external id. The store checks the plan together with the account.
func (b accountEditJSON) parse() (e petcat.AccountEdit, err error) {
	if b.Name != nil {
		name, err := petcat.ParseAccountName(*b.Name)
		if err != nil {
			return e, err
		}
		e.Name = &name
	}
	if b.ExternalID != nil {
		external, err := petcat.ParseExternalID(*b.ExternalID)
		if err != nil {
			return e, err
		}
		e.ExternalID = &external
	}
	if b.editsPlan() {
		e.Plan = &petcat.PlanEdit{
			Plan:          b.Plan,
			PerMinute:     b.PerMinute,
			PerDay:        b.PerDay,
			MaxCategories: b.MaxCategories,
			MaxBytes:      b.MaxBytes,
		}
	}
	return e, nil
}

// editAccount handles PATCH /accounts/{account}.
func (a *API) editAccount(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	var body accountEditJSON
	if err := c.readEdit(&body); err != nil {
		return err
	}
	edit, err := body.parse()
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	edited, err := a.Store.EditAccount(c.ctx(), by, account.ID, edit)
	if err != nil {
		return err
	}
	return c.ok(edited.Value)
}

// closeAccount handles DELETE /accounts/{account}.
func (a *API) closeAccount(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	closed, err := a.Store.CloseAccount(c.ctx(), by, account.ID)
	if err != nil {
		return err
	}
	return c.ok(closed.Value)
}

// purgeAccount handles POST /accounts/{account}/purge.
func (a *API) purgeAccount(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	purged, err := a.Store.PurgeAccount(c.ctx(), by, account.ID)
	if err != nil {
		return err
	}
	c.replayed(purged.Replayed)
	return c.ok(purged.Value)
}

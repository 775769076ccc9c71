package management

import (
	"cmp"
	"context"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

// UsageStore is the part of [petcat.UsageStore] that the API calls.
type UsageStore interface {
	Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error)
	UsageParts(ctx context.Context, q petcat.UsageQuery) ([]petcat.UsagePart, error)
	TopAccounts(ctx context.Context, q petcat.TopQuery) ([]petcat.AccountUsage, error)
	Rejections(ctx context.Context, account petcat.AccountID) ([]petcat.Rejection, error)
}

// getUsage handles GET /accounts/{account}/usage.
func (a *API) getUsage(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	return a.usageOf(c, account.ID, petcat.UsageGroup(c.query("group")))
}

// getTotalUsage handles GET /usage: it gets the usage of all accounts together.
func (a *API) getTotalUsage(c *call) error { return a.usageOf(c, petcat.AllAccounts, petcat.Ungrouped) }

// usageOf sends the usage of an account or of all.
func (a *API) usageOf(c *call, account petcat.AccountID, group petcat.UsageGroup) error {
	step := cmp.Or(petcat.UsageStep(c.query("by")), petcat.UsageByDay)
	q, err := c.usageQuery(account, step)
	if err != nil {
		return err
	}
	if q, err = q.GroupBy(group, c.now); err != nil {
		return err
	}
	history, err := a.Store.Usage(c.ctx(), q)
	if err != nil {
		return err
	}
	var parts []petcat.UsagePart
	if group != petcat.Ungrouped {
		if parts, err = a.Store.UsageParts(c.ctx(), q); err != nil {
			return err
		}
	}
	return c.ok(representation.Usage(representation.OrNull(account), q, history, parts))
}

// usageQuery returns a usage query with the times in the request.
func (c *call) usageQuery(account petcat.AccountID, step petcat.UsageStep) (petcat.UsageQuery, error) {
	from, err := c.time("from")
	if err != nil {
		return petcat.UsageQuery{}, err
	}
	to, err := c.time("to")
	if err != nil {
		return petcat.UsageQuery{}, err
	}
	return petcat.ParseUsageQuery(account, step, from, to, c.now)
}

// defaultTop is the number of accounts that topUsage lists by default.
const defaultTop = 20

// topUsage handles GET /usage/top: it lists the accounts with the most requests or rejections.
func (a *API) topUsage(c *call) error {
	by := cmp.Or(c.query("by"), "requests")
	if by != "requests" && by != "rejected" {
		return petcat.Errorf(petcat.CodeInvalidField, "by must be requests or rejected")
	}
	q, err := c.usageQuery(petcat.AllAccounts, petcat.UsageByDay)
	if err != nil {
		return err
	}
	limit, err := c.limit(defaultTop)
	if err != nil {
		return err
	}
	top, err := a.Store.TopAccounts(c.ctx(), petcat.TopQuery{
		From:       q.From,
		To:         q.To,
		ByRejected: by == "rejected",
		Limit:      limit,
	})
	if err != nil {
		return err
	}
	return okAll(c, top)
}

// listRejections handles GET /accounts/{account}/rejections.
func (a *API) listRejections(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	rejections, err := a.Store.Rejections(c.ctx(), account.ID)
	if err != nil {
		return err
	}
	return okAll(c, rejections)
}

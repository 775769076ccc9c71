package management

import (
	"context"

	"github.com/petcat-api/petcat"
)

// BanStore is the part of [petcat.BanStore] that the API calls.
type BanStore interface {
	FindBan(ctx context.Context, key petcat.KeyID) (petcat.Ban, error)
	BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error)
	LiftBan(
		ctx context.Context, by petcat.Author, key petcat.KeyID,
	) (petcat.Result[petcat.Ban], error)
}

// listBans handles GET /bans: it lists the bans in force.
func (a *API) listBans(c *call) error {
	limit, after, err := page(c, petcat.ParseKeyID)
	if err != nil {
		return err
	}
	bans, err := a.Store.BanPage(c.ctx(), petcat.BanQuery{
		Active: c.now,
		After:  after,
		Limit:  limit,
	})
	if err != nil {
		return err
	}
	if len(bans) == limit {
		c.linkNext(bans[limit-1].Key)
	}
	return answerAll(c, bans)
}

// getBan handles GET /bans/{key}.
func (a *API) getBan(c *call) error {
	k, err := a.key(c)
	if err != nil {
		return err
	}
	ban, err := a.Store.FindBan(c.ctx(), k.ID)
	if err != nil {
		return err
	}
	return c.answer(ban)
}

// liftBan handles DELETE /bans/{key}.
func (a *API) liftBan(c *call) error {
	k, err := a.key(c)
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	lifted, err := a.Store.LiftBan(c.ctx(), by, k.ID)
	if err != nil {
		return err
	}
	return c.answer(lifted.Value)
}

package management

import (
	"context"
	"time"

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

// activeSince returns when the requested bans are active: now by default, zero for all bans.
func (c *call) activeSince() (time.Time, error) {
	switch c.query("state") {
	case "", string(petcat.BanActive):
		return c.now, nil
	case everyState:
		return time.Time{}, nil
	default:
		return time.Time{}, petcat.Errorf(petcat.CodeInvalidField, "state must be active or all").In("state")
	}
}

// listBans handles GET /bans: it lists the bans in force, or the last ban of every key.
func (a *API) listBans(c *call) error {
	limit, after, err := page(c, petcat.ParseKeyID)
	if err != nil {
		return err
	}
	active, err := c.activeSince()
	if err != nil {
		return err
	}
	bans, err := a.Store.BanPage(c.ctx(), petcat.BanQuery{
		Active: active,
		After:  after,
		Limit:  limit,
	})
	if err != nil {
		return err
	}
	if len(bans) == limit {
		c.linkNext(bans[limit-1].Key)
	}
	return okAll(c, bans)
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
	return c.ok(ban)
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
	return c.ok(lifted.Value)
}

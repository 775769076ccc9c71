package management

import (
	"context"
	"net/http"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

// LinkStore is the part of [petcat.SessionStore] that the API calls.
type LinkStore interface {
	CreateLink(
		ctx context.Context, by petcat.Author, of petcat.Subject, token petcat.TokenHash,
	) (petcat.Result[petcat.Link], error)
	SignOutEverywhere(
		ctx context.Context, by petcat.Author, of petcat.Subject,
	) (petcat.Result[int64], error)
}

// createLink handles POST /accounts/{account}/links: a one-time link to the customer's page. A replay
// lacks the URL, because only the token's hash is stored.
func (a *API) createLink(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if a.CustomerLink == nil {
		return petcat.Errorf(petcat.CodeForbidden, "customer pages are off; start petcat with --customer-pages")
	}
	token, err := petcat.GenerateToken(a.Keys.Random)
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	made, err := a.Store.CreateLink(c.ctx(), by, petcat.Subject{Account: account.ID}, token.Hash)
	if err != nil {
		return err
	}
	c.replayed(made.Replayed)
	link := representation.Record{representation.KV("expires_at", made.Value.ExpiresAt)}
	if !made.Replayed {
		link = append(link, representation.KV("url", a.CustomerLink(token.Secret)))
	}
	return c.send(http.StatusCreated, link)
}

// signOut handles POST /accounts/{account}/sign-out: it ends all sessions of the customer's page, and
// revokes its unused links.
func (a *API) signOut(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	ended, err := a.Store.SignOutEverywhere(c.ctx(), by, petcat.Subject{Account: account.ID})
	if err != nil {
		return err
	}
	c.replayed(ended.Replayed)
	return c.ok(representation.Record{representation.KV("ended_sessions", ended.Value)})
}

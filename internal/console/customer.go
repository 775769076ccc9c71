package console

import (
	"crypto/rand"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// customerLinkView is a link to the customer's page, which is shown once.
type customerLinkView struct {
	Account   petcat.Account
	ExpiresAt time.Time
	Link      string
}

// createCustomerLink shows a link to the customer's page of an account.
func (c *Console) createCustomerLink(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	if c.CustomerLink == nil {
		return petcat.Errorf(petcat.CodeForbidden, "customer pages are off; start petcat with --customer-pages")
	}
	token, err := petcat.GenerateToken(rand.Reader)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := c.Store.CreateLink(x.R.Context(), by, petcat.Subject{Account: a.ID}, token.Hash)
	if err != nil {
		return err
	}
	if made.Replayed {
		return x.GoTo(accountPath(a.ID), "repeated")
	}
	return x.Render("customer-link", pages.View{
		Title:   "New link",
		Section: "accounts",
		Data: customerLinkView{
			Account:   a,
			ExpiresAt: made.Value.ExpiresAt,
			Link:      c.CustomerLink(token.Secret),
		},
	})
}

// signOutCustomer ends all sessions of the customer's page, and revokes its unused links.
func (c *Console) signOutCustomer(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	ended, err := c.Store.SignOutEverywhere(x.R.Context(), by, petcat.Subject{Account: a.ID})
	if err != nil {
		return err
	}
	return x.Made(accountPath(a.ID), ended.Replayed, "signed-out")
}

package console

import (
	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// bansView is a page of bans.
type bansView struct {
	All   bool // also bans that have ended
	Bans  []banView
	Paged bool
	Next  *petcat.Ban
}

// banView is a ban with its account's name.
type banView struct {
	petcat.Ban

	Name string
}

func (c *Console) bans(x *pages.Exchange) error {
	after, _ := petcat.ParseKeyID(x.Value("after")) // 0 without one
	q := petcat.BanQuery{
		After: after,
		Limit: pages.Size + 1,
	}
	all := x.Value("all") != ""
	if !all {
		q.Active = c.now()
	}
	page, err := c.Store.BanPage(x.R.Context(), q)
	if err != nil {
		return err
	}
	page, next := pages.Cut(page)
	ids := make([]petcat.AccountID, len(page))
	for i, b := range page {
		ids[i] = b.Account
	}
	accounts, err := c.Store.AccountSummaries(x.R.Context(), ids)
	if err != nil {
		return err
	}
	v := bansView{
		All:   all,
		Paged: after != 0,
		Next:  next,
	}
	for i, b := range page {
		v.Bans = append(v.Bans, banView{Ban: b, Name: accounts[i].Name})
	}
	return x.Render("bans", pages.View{
		Title:   "Bans",
		Section: "bans",
		Data:    v,
	})
}

func (c *Console) liftBan(x *pages.Exchange) error {
	id, err := petcat.ParseKeyID(x.R.PathValue("key"))
	if err != nil {
		return pages.NotFound()
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	lifted, err := c.Store.LiftBan(x.R.Context(), by, id)
	if err != nil {
		return err
	}
	back := "bans"
	if x.Value("from") == "key" {
		back = "keys/" + id.String()
	}
	return x.Made(back, lifted.Replayed, "lifted")
}

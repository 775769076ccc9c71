package console

import (
	"slices"

	"petcat"
)

// bansView is a page of bans.
type bansView struct {
	All   bool // not only those that are active
	Bans  []banView
	Paged bool
	Next  petcat.KeyID
}

// banView is a ban as it is now.
type banView struct {
	petcat.Ban

	Name  string // of the account
	State petcat.BanState
}

func bans(x *exchange) error {
	q := petcat.BanQuery{Limit: pageSize + 1}
	v := bansView{All: x.value("all") != ""}
	if !v.All {
		q.Active = x.now()
	}
	if after, err := petcat.ParseKeyID(x.value("after")); err == nil {
		q.After, v.Paged = after, true
	}
	page, err := x.Store.BanPage(x.r.Context(), q)
	if err != nil {
		return err
	}
	if len(page) > pageSize {
		page, v.Next = page[:pageSize], page[pageSize-1].Key
	}
	for _, b := range page {
		a, err := x.Store.FindAccount(x.r.Context(), b.Account.String())
		if err != nil {
			return err
		}
		v.Bans = append(v.Bans, banView{b, a.Name, b.State(x.now())})
	}
	return x.render("bans", view{Title: "Bans", Section: "bans", Data: v})
}

// bansInForce returns at most [pageSize] bans that refuse requests now, and whether there
// are more.
func (x *exchange) bansInForce(q petcat.BanQuery) (all []petcat.Ban, more bool, err error) {
	q.Active, q.Limit = x.now(), pageSize+1
	if all, err = x.Store.BanPage(x.r.Context(), q); err != nil {
		return nil, false, err
	}
	if more = len(all) > pageSize; more {
		all = all[:pageSize]
	}
	return slices.DeleteFunc(all, func(b petcat.Ban) bool { return !b.Active(q.Active) }), more, nil
}

// bannedOf returns which keys of a page, which begins with the newest, are banned now.
func (x *exchange) bannedOf(a petcat.AccountID, keys []petcat.Key) (banned []petcat.KeyID, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	bans, _, err := x.bansInForce(petcat.BanQuery{Account: a, After: keys[len(keys)-1].ID - 1})
	for _, b := range bans {
		banned = append(banned, b.Key)
	}
	return banned, err
}

func liftBan(x *exchange) error {
	id, err := petcat.ParseKeyID(x.r.PathValue("key"))
	if err != nil {
		return notFoundPage(x)
	}
	if _, err := x.Store.LiftBan(x.r.Context(), x.actor(), id); err != nil {
		return err
	}
	back := "bans"
	if x.value("from") == "key" {
		back = "keys/" + id.String()
	}
	return x.goTo(back, "lifted")
}

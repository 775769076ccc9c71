package console

import (
	"slices"

	"petcat"
	"petcat/internal/pages"
)

// keyView is a key as it is now.
type keyView struct {
	petcat.Key

	Banned bool
	Owner  petcat.Account
	Ban    *petcat.Ban // the last one
}

// findKey returns the key that the path names.
func findKey(x *exchange) (petcat.Key, error) {
	id, err := petcat.ParseKeyID(x.r.PathValue("key"))
	if err != nil {
		return petcat.Key{}, notFoundPage(x)
	}
	return x.Store.FindKey(x.r.Context(), id)
}

func key(x *exchange, k petcat.Key) error {
	v, err := x.look(k)
	if err != nil {
		return err
	}
	return x.render("key", view{Title: k.ID.String(), Section: "accounts", Data: v})
}

// look returns a key as it is now.
func (x *exchange) look(k petcat.Key) (v keyView, err error) {
	v.Key = k
	if v.Owner, err = x.Store.FindAccount(x.r.Context(), k.Account.String()); err != nil {
		return v, err
	}
	last, err := x.Store.BanPage(x.r.Context(), petcat.BanQuery{Account: k.Account, After: k.ID - 1, Limit: 1})
	if len(last) == 1 && last[0].Key == k.ID {
		v.Ban, v.Banned = &last[0], last[0].Active(x.now())
	}
	return v, err
}

// newKeyView is a new key with its account.
type newKeyView struct {
	pages.NewKey

	Account petcat.Account
}

// keys makes keys.
func (x *exchange) keys() pages.Keys {
	return pages.Keys{Store: x.Store, KeyGenerator: petcat.KeyGenerator{Environment: x.Environment, Random: x.Random}}
}

func createKey(x *exchange, a petcat.Account) error {
	k, err := x.keys().Create(x.r.Context(), x.actor(), a.ID, x.r.Form, x.now())
	if err != nil {
		return err
	}
	return x.render("new-key", view{Title: "New key", Section: "accounts", Data: newKeyView{k, a}})
}

func rotateKey(x *exchange, old petcat.Key) error {
	if x.value("overlap") == "0s" && x.value("sure") == "" {
		return confirmRotate(x, old)
	}
	k, err := x.keys().Rotate(x.r.Context(), x.actor(), old, x.r.Form)
	if err != nil {
		return err
	}
	a, err := x.Store.FindAccount(x.r.Context(), old.Account.String())
	if err != nil {
		a = petcat.Account{ID: old.Account, Name: old.Account.String()} // the secret must be shown now
	}
	return x.render("new-key", view{Title: "New key", Section: "accounts", Data: newKeyView{k, a}})
}

// confirmRotate asks before a rotation that ends the old key at once.
func confirmRotate(x *exchange, old petcat.Key) error {
	return x.confirmKey(old, confirmation{
		What:        "Rotate the key " + old.ID.String() + " without an overlap?",
		Consequence: "Within a second, requests with the old key get 401, for good. That is also so for clients that do not have the new key yet.",
		Action:      "keys/" + old.ID.String() + "/rotate?overlap=0s&sure=yes", Button: "Rotate the key now",
	})
}

// confirmKey asks before a change of a key, which the page describes.
func (x *exchange) confirmKey(k petcat.Key, c confirmation) error {
	v, err := x.look(k)
	if err != nil {
		return err
	}
	c.Key, c.Back = &v, "keys/"+k.ID.String()
	return x.render("confirm", view{Title: c.Button, Section: "accounts", Data: c})
}

// changeKey returns the handler of an action.
func changeKey(action petcat.KeyAction, done string) func(*exchange, petcat.Key) error {
	return func(x *exchange, k petcat.Key) error {
		_, err := x.Store.ChangeKey(x.r.Context(), x.actor(), k.ID, action)
		return x.done(err, "keys/"+k.ID.String(), done)
	}
}

func confirmRevoke(x *exchange, k petcat.Key) error {
	return x.confirmKey(k, confirmation{
		What:        "Revoke the key " + k.ID.String() + "?",
		Consequence: "Within a second, requests with it get 401, for good. If you are not sure, disable it instead: that can be undone.",
		Action:      "keys/" + k.ID.String() + "/revoke", Button: "Revoke the key",
	})
}

// bansView is a page of bans.
type bansView struct {
	All   bool // not only those that are active
	Bans  []banView
	Paged bool
	Next  *petcat.Ban
}

// banView is a ban with its account's name.
type banView struct {
	petcat.Ban

	Name string
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
	page, v.Next = cut(page)
	for _, b := range page {
		a, err := x.Store.FindAccount(x.r.Context(), b.Account.String())
		if err != nil {
			return err
		}
		v.Bans = append(v.Bans, banView{b, a.Name})
	}
	return x.render("bans", view{Title: "Bans", Section: "bans", Data: v})
}

// bansInForce returns at most [pageSize] bans that refuse requests now, and whether there
// are more.
func (x *exchange) bansInForce(q petcat.BanQuery) (all []petcat.Ban, more bool, err error) {
	q.Active, q.Limit = x.now(), pageSize+1
	all, err = x.Store.BanPage(x.r.Context(), q)
	all, next := cut(all)
	return slices.DeleteFunc(all, func(b petcat.Ban) bool { return !b.Active(q.Active) }), next != nil, err
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

package console

import (
	"petcat"
	"petcat/internal/pages"
)

// findKey returns the key in the path.
func findKey(x *exchange) (petcat.Key, error) {
	id, err := petcat.ParseKeyID(x.R.PathValue("key"))
	if err != nil {
		return petcat.Key{}, pages.NotFound()
	}
	return x.Store.FindKey(x.R.Context(), id)
}

func key(x *exchange, k petcat.Key) error {
	v, err := x.Look(k)
	if err != nil {
		return err
	}
	return x.Render("key", pages.View{Title: k.ID.String(), Section: "accounts", Data: v})
}

func createKey(x *exchange, a petcat.Account) error { return x.CreateKey("accounts", a.ID) }

func rotateKey(x *exchange, old petcat.Key) error { return x.RotateKey("accounts", old) }

// changeKey returns the handler of an action.
func changeKey(action petcat.KeyAction, done string) func(*exchange, petcat.Key) error {
	return func(x *exchange, k petcat.Key) error { return x.ChangeKey(k.ID, action, done) }
}

func confirmRevoke(x *exchange, k petcat.Key) error {
	return x.ConfirmRevoke("accounts", k, "If you are not sure, disable it instead: that can be undone.")
}

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

func bans(x *exchange) error {
	q := petcat.BanQuery{Limit: pages.Size + 1}
	v := bansView{All: x.Value("all") != ""}
	if !v.All {
		q.Active = x.now()
	}
	q.After, _ = petcat.ParseKeyID(x.Value("after")) // 0 without one
	v.Paged = q.After != 0
	page, err := x.Store.BanPage(x.R.Context(), q)
	if err != nil {
		return err
	}
	page, v.Next = pages.Cut(page)
	of, err := summaries(x, page, func(b petcat.Ban) petcat.AccountID { return b.Account })
	if err != nil {
		return err
	}
	for i, b := range page {
		v.Bans = append(v.Bans, banView{b, of[i].Name})
	}
	return x.Render("bans", pages.View{Title: "Bans", Section: "bans", Data: v})
}

func liftBan(x *exchange) error {
	id, err := petcat.ParseKeyID(x.R.PathValue("key"))
	if err != nil {
		return pages.NotFound()
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	lifted, err := x.Store.LiftBan(x.R.Context(), by, id)
	if err != nil {
		return err
	}
	back := "bans"
	if x.Value("from") == "key" {
		back = "keys/" + id.String()
	}
	return x.Made(back, lifted.Replayed, "lifted")
}

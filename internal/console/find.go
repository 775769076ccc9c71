package console

import (
	"strings"

	"petcat"
	"petcat/internal/pages"
)

// foundView is what a search found.
type foundView struct {
	Accounts []petcat.AccountSummary
	More     bool // of them
	Keys     []petcat.Key
	Refusals []petcat.Refusal
	Hint     string // what to do if nothing was found
}

// find shows what was typed, or leads to it: an account or a key by its id, keys by their hint
// or as a whole, accounts by the beginning of their name, a refusal by the X-Request-Id. What was
// typed may be a secret: it is in the body of a POST, and the page does not repeat it.
func find(x *exchange) (err error) {
	text := x.value("q")
	if pasted := petcat.KeysIn(text); len(pasted) > 0 {
		return x.findPasted(pasted)
	}
	if id, isID := petcat.ParseAccountRef(strings.ToLower(text)); isID {
		return x.goTo("accounts/"+id.String(), "")
	}
	if id, err := petcat.ParseKeyID(strings.ToLower(text)); err == nil {
		return x.goTo("keys/"+id.String(), "")
	}
	v := foundView{Hint: "Search finds accounts by id or by the beginning of their name, keys by id, by hint or as a whole, and a recent refusal by its X-Request-Id."}
	if text == "" {
		return x.found(v)
	}
	r, err := x.Store.FindRefusal(x.r.Context(), text)
	if err == nil {
		v.Refusals = append(v.Refusals, r)
	} else if petcat.CodeOf(err) != petcat.CodeNotFound {
		return err
	}
	if hint, err := petcat.ParseKeyHint(text); err == nil {
		if v.Keys, err = x.Store.KeyPage(x.r.Context(), petcat.KeyQuery{Hint: hint, Limit: pageSize}); err != nil {
			return err
		}
	}
	if v.Accounts, err = x.accounts(petcat.AccountQuery{Prefix: text, Limit: pageSize + 1}); err != nil {
		return err
	}
	if len(v.Accounts) > pageSize {
		v.Accounts, v.More = v.Accounts[:pageSize], true
	}
	return x.found(v)
}

func (x *exchange) found(v foundView) error {
	return x.render("find", view{Title: "Search", Data: v})
}

// findPasted shows the keys that a text has, as somebody found them where they do not belong.
func (x *exchange) findPasted(pasted []petcat.Secret) error {
	var v foundView
	var hashes []petcat.KeyHash
	for _, secret := range pasted {
		hash, err := petcat.ParseKey(x.Environment, secret.Reveal())
		if err != nil {
			v.Hint = pages.Sentence(petcat.Public(err).Message)
			continue
		}
		hashes = append(hashes, hash)
	}
	var err error
	if v.Keys, err = x.Store.FindKeys(x.r.Context(), hashes); err != nil {
		return err
	}
	if len(v.Keys) < len(hashes) {
		v.Hint = "This service never made a key that was pasted."
	}
	if len(v.Keys) == 1 && len(pasted) == 1 {
		return x.goTo("keys/"+v.Keys[0].ID.String(), "")
	}
	return x.found(v)
}

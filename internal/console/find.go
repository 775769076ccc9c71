package console

import (
	"strings"

	"petcat"
	"petcat/internal/pages"
)

// foundView is the result of a search.
type foundView struct {
	Accounts []petcat.AccountSummary
	More     *petcat.AccountSummary // the last one, if there are more
	Keys     []petcat.Key
	Refusals []petcat.Refusal
	Hint     string // advice if nothing was found
}

// find redirects to an account or key by its id or to a key by its secret, and shows keys by their
// hint, accounts by the beginning of their name, and refusals by their X-Request-Id. The text may
// be a secret: it is in the body of a POST, and the page does not repeat it.
func find(x *exchange) (err error) {
	text := x.Value("q")
	if len(petcat.KeysIn(text)) > 0 {
		return x.findLeaked(text)
	}
	if id, isID := petcat.ParseAccountRef(strings.ToLower(text)); isID {
		return x.GoTo("accounts/"+id.String(), "")
	}
	if id, err := petcat.ParseKeyID(strings.ToLower(text)); err == nil {
		return x.GoTo("keys/"+id.String(), "")
	}
	v := foundView{Hint: "Search finds accounts by id or by the beginning of their name, keys by id, by hint or as a whole, and a recent refusal by its X-Request-Id."}
	if text == "" {
		return x.found(v)
	}
	r, err := x.Store.FindRefusal(x.R.Context(), text)
	if err == nil {
		v.Refusals = append(v.Refusals, r)
	} else if petcat.CodeOf(err) != petcat.CodeNotFound {
		return err
	}
	if hint, err := petcat.ParseKeyHint(text); err == nil {
		if v.Keys, err = x.Store.KeyPage(x.R.Context(), petcat.KeyQuery{Hint: hint, Limit: pages.Size}); err != nil {
			return err
		}
	}
	if v.Accounts, err = x.accounts(petcat.AccountQuery{Prefix: text, Limit: pages.Size + 1}); err != nil {
		return err
	}
	v.Accounts, v.More = pages.Cut(v.Accounts)
	return x.found(v)
}

func (x *exchange) found(v foundView) error {
	return x.Render("find", pages.View{Title: "Search", Data: v})
}

// findLeaked shows the keys whose secrets are in a text.
func (x *exchange) findLeaked(text string) error {
	hashes, rejected := petcat.KeyHashesIn(x.Environment, text)
	keys, err := x.Store.FindKeys(x.R.Context(), hashes)
	if len(keys) < len(hashes) {
		rejected = petcat.Errorf(petcat.CodeInvalidAPIKey, "this service never created a key that was pasted")
	}
	switch {
	case err != nil:
		return err
	case rejected != nil:
		return x.found(foundView{Keys: keys, Hint: pages.Sentence(rejected.Message)})
	case len(keys) == 1:
		return x.GoTo("keys/"+keys[0].ID.String(), "")
	default:
		return x.found(foundView{Keys: keys})
	}
}

package portal

import (
	"errors"
	"time"

	"petcat"
	"petcat/internal/pages"
)

// keyView is a key as it is now.
type keyView struct {
	petcat.Key

	Ban *petcat.Ban
}

func key(x *exchange, k petcat.Key) error {
	bans, err := x.bans()
	if err != nil {
		return err
	}
	return x.render("key", view{Title: k.ID.String(), Section: "overview", Data: keyView{k, bans[k.ID]}})
}

// createKey creates one key, however often its form is sent: the page names what that creates.
func createKey(x *exchange) error {
	by := x.account.ID.Actor()
	ctx, err := petcat.WithOnce(x.r.Context(), by, x.value("once"), x.r.Form.Encode())
	if err != nil {
		return err
	}
	k, err := x.keys.Create(ctx, by, x.account.ID, x.r.Form, x.now())
	if repeated, ok := errors.AsType[*petcat.RepeatedError](err); ok {
		return petcat.Errorf(petcat.CodeInvalidField, "this form was sent before, and created %s, whose secret was shown then; if you do not have it, revoke that key", repeated.Subject)
	}
	if err != nil {
		return err
	}
	return x.render("new-key", view{Title: "New key", Section: "overview", Data: k})
}

func rotateKey(x *exchange, old petcat.Key) error {
	if x.value("overlap") == "0s" && x.value("sure") == "" {
		return x.confirm(confirmation{old, "Rotate", "rotate?overlap=0s&sure=yes", "Within a second, requests with the old key get 401, for good. That is also so for programs that do not have the new key yet."})
	}
	k, err := x.keys.Rotate(x.r.Context(), x.account.ID.Actor(), old, x.r.Form)
	if err != nil {
		return err
	}
	return x.render("new-key", view{Title: "New key", Section: "overview", Data: k})
}

// editKey changes label and expiry. The form shows the day of the expiry; its time of day stays
// while that is not changed.
func editKey(x *exchange, k petcat.Key) error {
	label := x.value("label")
	day, err := pages.Date(x.value("expires"), "the day on which it expires")
	if err != nil {
		return err
	}
	expiresAt := &day
	if x.value("expires") == k.ExpiresAt.Format(time.DateOnly) {
		expiresAt = nil
	}
	edit, err := petcat.ParseKeyEdit(&label, expiresAt, x.now())
	if err != nil {
		return err
	}
	if _, err := x.Store.EditKey(x.r.Context(), x.account.ID.Actor(), k.ID, edit); err != nil {
		return err
	}
	return x.goTo("keys/" + k.ID.String() + "?done=edited")
}

func revokeKey(x *exchange, k petcat.Key) error {
	if _, err := x.Store.ChangeKey(x.r.Context(), x.account.ID.Actor(), k.ID, petcat.RevokeKey); err != nil {
		return err
	}
	return x.goTo("keys/" + k.ID.String() + "?done=revoked")
}

func confirmRevoke(x *exchange, k petcat.Key) error {
	return x.confirm(confirmation{k, "Revoke", "revoke", "Within a second, requests with it get 401, for good. To replace a key without a gap, rotate it instead."})
}

// confirmation is the question before a change that cannot be undone.
type confirmation struct {
	Key                       petcat.Key
	Verb, Action, Consequence string
}

func (x *exchange) confirm(c confirmation) error {
	return x.render("confirm", view{Title: c.Verb + " " + c.Key.ID.String(), Section: "overview", Data: c})
}

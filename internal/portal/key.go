package portal

import (
	"errors"
	"time"

	"petcat"
	"petcat/internal/pages"
)

func key(x *exchange, k petcat.Key) error {
	all, _, err := x.look([]petcat.Key{k})
	if err != nil {
		return err
	}
	return x.render("key", view{Title: k.ID.String(), Section: "overview", Data: all[0]})
}

// newKeyView is a key whose secret is shown, once.
type newKeyView struct {
	Key    petcat.Key
	Secret string
	Old    *petcat.Key // the key that it replaces
}

func createKey(x *exchange) (err error) {
	terms := petcat.KeyTerms{Label: x.value("label"), ReadOnly: x.value("read_only") != ""}
	if terms.ExpiresAt, err = x.expiry(); err != nil {
		return err
	}
	generated, err := petcat.GenerateKey(x.Environment, x.Random)
	if err != nil {
		return err
	}
	asked, err := petcat.ParseNewKey(x.account.ID, terms, x.now(), generated)
	if err != nil {
		return err
	}
	by, ctx := x.account.ID.Actor(), x.r.Context()
	if once := x.value("once"); once != "" { // the page names what its form creates
		named, err := petcat.ParseIdempotencyKey(once)
		if err != nil {
			return err
		}
		ctx = petcat.WithOnce(ctx, petcat.Once{By: by, Key: named, Request: x.r.Form.Encode()})
	}
	k, err := x.Store.CreateKey(ctx, by, asked)
	if repeated, ok := errors.AsType[*petcat.RepeatedError](err); ok {
		return petcat.Errorf(petcat.CodeInvalidField, "this form was sent before, and created %s, whose secret was shown then; if you do not have it, revoke that key", repeated.Subject)
	}
	if err != nil {
		return unsure(err)
	}
	return x.render("new-key", view{Title: "New key", Section: "overview", Data: newKeyView{Key: k, Secret: generated.Secret.Reveal()}})
}

// expiry returns when the form lets a key expire; the zero time is never.
func (x *exchange) expiry() (time.Time, error) {
	return pages.Date(x.value("expires"), "the day on which it expires")
}

// unsure says what to do if there may be a new key whose secret was not shown.
func unsure(err error) error {
	if errors.Is(err, petcat.ErrOutcomeUnknown) {
		return petcat.Errorf(petcat.CodeServiceUnavailable, "a key may have been created whose secret nobody knows; look at your keys, and revoke it").WithCause(err)
	}
	return err
}

// editKey changes label and expiry. The form shows the day of the expiry; its time of day stays
// while that is not changed.
func editKey(x *exchange, k petcat.Key) error {
	label := x.value("label")
	day, err := x.expiry()
	if err != nil {
		return err
	}
	expiresAt := &day
	if x.value("expires") == dayOf(k.ExpiresAt) {
		expiresAt = nil
	}
	edit, err := petcat.ParseKeyEdit(&label, expiresAt, x.now())
	if err != nil {
		return err
	}
	if _, err := x.Store.EditKey(x.r.Context(), x.account.ID.Actor(), k.ID, edit); err != nil {
		return err
	}
	return x.goTo("keys/"+k.ID.String(), "edited")
}

// dayOf returns a day as forms have it, "" for the zero time.
func dayOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// Expires returns the day on which the key expires, as forms have it.
func (v keyView) Expires() string { return dayOf(v.ExpiresAt) }

func rotateKey(x *exchange, old petcat.Key) error {
	overlap, err := time.ParseDuration(x.value("overlap"))
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidField, "choose for how long both keys work")
	}
	if overlap == 0 && x.value("sure") == "" {
		return x.confirm(old, "Rotate", "?overlap=0s&sure=yes", "Within a second, requests with the old key get 401, for good. That is also so for programs that do not have the new key yet.")
	}
	generated, err := petcat.GenerateKey(x.Environment, x.Random)
	if err != nil {
		return err
	}
	rotation, err := petcat.ParseRotation(old.ID, overlap, generated)
	if err != nil {
		return err
	}
	k, err := x.Store.RotateKey(x.r.Context(), x.account.ID.Actor(), rotation)
	if err != nil {
		return unsure(err)
	}
	end := k.CreatedAt.Add(overlap)
	if old.ExpiresAt.IsZero() || end.Before(old.ExpiresAt) {
		old.ExpiresAt = end
	}
	return x.render("new-key", view{Title: "New key", Section: "overview", Data: newKeyView{Key: k, Secret: generated.Secret.Reveal(), Old: &old}})
}

func revokeKey(x *exchange, k petcat.Key) error {
	if _, err := x.Store.ChangeKey(x.r.Context(), x.account.ID.Actor(), k.ID, petcat.RevokeKey); err != nil {
		return err
	}
	return x.goTo("keys/"+k.ID.String(), "revoked")
}

func confirmRevoke(x *exchange, k petcat.Key) error {
	return x.confirm(k, "Revoke", "", "Within a second, requests with it get 401, for good. To replace a key without a gap, rotate it instead.")
}

// confirmation is the question before a change that cannot be undone.
type confirmation struct {
	Key                       petcat.Key
	Verb, Action, Consequence string
}

func (x *exchange) confirm(k petcat.Key, verb, query, consequence string) error {
	action := "keys/" + k.ID.String() + "/" + map[string]string{"Rotate": "rotate", "Revoke": "revoke"}[verb] + query
	return x.render("confirm", view{Title: verb + " " + k.ID.String(), Section: "overview", Data: confirmation{k, verb, action, consequence}})
}

package pages

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"petcat"
)

// Keys makes keys as forms ask for them.
type Keys struct {
	Store interface {
		CreateKey(ctx context.Context, by petcat.Actor, k petcat.NewKey) (petcat.Key, error)
		RotateKey(ctx context.Context, by petcat.Actor, r petcat.Rotation) (petcat.Key, error)
	}
	Environment petcat.Environment
	Random      io.Reader // cryptographically secure
}

// NewKey is a key whose secret is shown, once.
type NewKey struct {
	Key    petcat.Key
	Secret string
	Old    *petcat.Key // the key that it replaces
}

// Create creates a key of an account with the form's label, expires and read_only.
func (k Keys) Create(ctx context.Context, by petcat.Actor, account petcat.AccountID, form url.Values, now time.Time) (NewKey, error) {
	terms := petcat.KeyTerms{Label: strings.TrimSpace(form.Get("label")), ReadOnly: form.Get("read_only") != ""}
	var err error
	if terms.ExpiresAt, err = Date(strings.TrimSpace(form.Get("expires")), "the day on which it expires"); err != nil {
		return NewKey{}, err
	}
	generated, err := petcat.GenerateKey(k.Environment, k.Random)
	if err != nil {
		return NewKey{}, err
	}
	asked, err := petcat.ParseNewKey(account, terms, now, generated)
	if err != nil {
		return NewKey{}, err
	}
	created, err := k.Store.CreateKey(ctx, by, asked)
	return NewKey{Key: created, Secret: generated.Secret.Reveal()}, unsure(err)
}

// Rotate replaces a key by another one with the form's overlap.
func (k Keys) Rotate(ctx context.Context, by petcat.Actor, old petcat.Key, form url.Values) (NewKey, error) {
	overlap, err := time.ParseDuration(form.Get("overlap"))
	if err != nil {
		return NewKey{}, petcat.Errorf(petcat.CodeInvalidField, "choose for how long both keys work")
	}
	generated, err := petcat.GenerateKey(k.Environment, k.Random)
	if err != nil {
		return NewKey{}, err
	}
	rotation, err := petcat.ParseRotation(old.ID, overlap, generated)
	if err != nil {
		return NewKey{}, err
	}
	created, err := k.Store.RotateKey(ctx, by, rotation)
	if end := created.CreatedAt.Add(overlap); old.ExpiresAt.IsZero() || end.Before(old.ExpiresAt) {
		old.ExpiresAt = end
	}
	return NewKey{Key: created, Secret: generated.Secret.Reveal(), Old: &old}, unsure(err)
}

// unsure says what to do if there may be a new key whose secret was not shown.
func unsure(err error) error {
	if errors.Is(err, petcat.ErrOutcomeUnknown) {
		return petcat.Errorf(petcat.CodeServiceUnavailable, "a key may have been created whose secret nobody knows; look at the keys of the account, and revoke it").WithCause(err)
	}
	return err
}

package pages

import (
	"context"
	"errors"
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
	petcat.KeyGenerator
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
	asked, secret, err := k.NewKey(account, terms, now)
	if err != nil {
		return NewKey{}, err
	}
	created, err := k.Store.CreateKey(ctx, by, asked)
	return NewKey{Key: created, Secret: secret.Reveal()}, unsure(err)
}

// Rotate replaces a key by another one with the form's overlap.
func (k Keys) Rotate(ctx context.Context, by petcat.Actor, old petcat.Key, form url.Values) (NewKey, error) {
	overlap, err := time.ParseDuration(form.Get("overlap"))
	if err != nil {
		return NewKey{}, petcat.Errorf(petcat.CodeInvalidField, "choose for how long both keys work")
	}
	rotation, secret, err := k.Rotation(old.ID, overlap)
	if err != nil {
		return NewKey{}, err
	}
	created, err := k.Store.RotateKey(ctx, by, rotation)
	if rotated, _, applyErr := rotation.Apply(old, created.CreatedAt); applyErr == nil {
		old = rotated
	}
	return NewKey{Key: created, Secret: secret.Reveal(), Old: &old}, unsure(err)
}

// unsure says what to do if there may be a new key whose secret was not shown.
func unsure(err error) error {
	if errors.Is(err, petcat.ErrOutcomeUnknown) {
		return petcat.Errorf(petcat.CodeServiceUnavailable, "a key may have been created whose secret nobody knows; look at the keys of the account, and revoke it").WithCause(err)
	}
	return err
}

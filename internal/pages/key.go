package pages

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/petcat-api/petcat"
)

// Keys is the part of the store with accounts' keys.
type Keys interface {
	FindAccount(ctx context.Context, ref string) (petcat.Account, error)
	KeyPage(ctx context.Context, q petcat.KeyQuery) ([]petcat.Key, error)
	BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error)
	CreateKey(
		ctx context.Context, by petcat.Author, k petcat.NewKey,
	) (petcat.Result[petcat.Key], error)
	RotateKey(
		ctx context.Context, by petcat.Author, r petcat.Rotation,
	) (petcat.Result[petcat.RotatedKey], error)
	EditKey(
		ctx context.Context, by petcat.Author, id petcat.KeyID, e petcat.KeyEdit,
	) (petcat.Result[petcat.Key], error)
	ChangeKey(
		ctx context.Context, by petcat.Author, id petcat.KeyID, a petcat.KeyAction,
	) (petcat.Result[petcat.Key], error)
}

// KeyView is a key with its current state.
type KeyView struct {
	petcat.Key

	Owner  petcat.Account
	Ban    *petcat.Ban // the last one, nil without one
	Banned bool
}

// Look returns the view of a key.
func (x *Exchange) Look(k petcat.Key) (KeyView, error) {
	owner, err := x.site.Keys.FindAccount(x.R.Context(), k.Account.String())
	if err != nil {
		return KeyView{}, err
	}
	last, err := x.site.Keys.BanPage(x.R.Context(), petcat.BanQuery{
		Account: k.Account,
		After:   k.ID - 1,
		Limit:   1,
	})
	if err != nil {
		return KeyView{}, err
	}
	v := KeyView{Key: k, Owner: owner}
	if len(last) == 1 && last[0].Key == k.ID {
		v.Ban = &last[0]
		v.Banned = v.Ban.Active(x.site.now())
	}
	return v, nil
}

// ShowKey shows a key.
func (x *Exchange) ShowKey(section string, k petcat.Key) error {
	v, err := x.Look(k)
	if err != nil {
		return err
	}
	return x.Render("key", View{
		Title:   k.ID.String(),
		Section: section,
		Data:    v,
	})
}

// KeyList is a page of an account's keys, the newest first.
type KeyList struct {
	Keys  []KeyView // without Owner and Ban
	Paged bool      // not the first page
	Next  *petcat.Key
	Bans  []petcat.Ban // the account's bans in force, at most [Size]
	More  bool         // more bans in force
}

// KeyList returns the page of keys that the query selects.
func (x *Exchange) KeyList(account petcat.AccountID) (KeyList, error) {
	before, _ := petcat.ParseKeyID(x.Value("before")) // 0 without one
	keys, err := x.site.Keys.KeyPage(x.R.Context(), petcat.KeyQuery{
		Account: account,
		Before:  before,
		Limit:   Size + 1,
	})
	if err != nil {
		return KeyList{}, err
	}
	bans, more, err := x.BansInForce(petcat.BanQuery{Account: account})
	if err != nil {
		return KeyList{}, err
	}
	keys, next := Cut(keys)
	v := KeyList{
		Paged: before != 0,
		Next:  next,
		Bans:  bans,
		More:  more,
	}
	if len(keys) == 0 {
		return v, nil
	}
	// The bans of the keys on this page: there are at most as many, and bans of newer keys follow.
	oldest := keys[len(keys)-1].ID
	bans, _, err = x.BansInForce(petcat.BanQuery{Account: account, After: oldest - 1})
	if err != nil {
		return KeyList{}, err
	}
	for _, k := range keys {
		banned := slices.ContainsFunc(bans, func(b petcat.Ban) bool { return b.Key == k.ID })
		v.Keys = append(v.Keys, KeyView{Key: k, Banned: banned})
	}
	return v, nil
}

// BansInForce returns at most [Size] bans in force, and reports whether there are more.
func (x *Exchange) BansInForce(q petcat.BanQuery) (bans []petcat.Ban, more bool, err error) {
	q.Active = x.site.now()
	q.Limit = Size + 1
	page, err := x.site.Keys.BanPage(x.R.Context(), q)
	if err != nil {
		return nil, false, err
	}
	page, next := Cut(page)
	for _, b := range page {
		if b.Active(q.Active) {
			bans = append(bans, b)
		}
	}
	return bans, next != nil, nil
}

// NewKeyFields are the fields of the form of [Exchange.CreateKey].
func NewKeyFields() []string { return []string{"label", "expires", "read_only", "networks"} }

// EditKeyFields are the fields of the form of [Exchange.EditKey].
func EditKeyFields() []string { return []string{"label", "expires", "networks"} }

// RotateFields are the fields of the form of [Exchange.RotateKey].
func RotateFields() []string { return []string{"overlap", "sure"} }

// CreateKey creates a key of an account with the form's label, expires, read_only and networks, and
// shows it.
func (x *Exchange) CreateKey(section string, account petcat.AccountID) error {
	expiresAt, err := x.Date("expires", "the day on which it expires")
	if err != nil {
		return err
	}
	networks, err := petcat.ReadNetworks(x.Value("networks"))
	if err != nil {
		return err
	}
	key, secret, err := x.generator().NewKey(account, petcat.KeyTerms{
		Label:     x.Value("label"),
		ExpiresAt: expiresAt,
		ReadOnly:  x.Value("read_only") != "",
		Networks:  networks,
	})
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	created, err := x.site.Keys.CreateKey(x.R.Context(), by, key)
	if err != nil {
		return secretLost(err)
	}
	if created.Replayed {
		return x.GoTo(keyPath(created.Value.ID), "repeated")
	}
	return x.showSecret(section, newKey{
		Key:    created.Value,
		Secret: secret.Reveal(),
	})
}

func (x *Exchange) generator() petcat.KeyGenerator {
	return petcat.KeyGenerator{
		Environment: x.site.Environment,
		Random:      rand.Reader,
	}
}

func keyPath(id petcat.KeyID) string { return "keys/" + id.String() }

// RotateKey replaces a key with the form's overlap, and shows the new one. It asks before a
// rotation without an overlap.
func (x *Exchange) RotateKey(section string, old petcat.Key) error {
	if x.Value("overlap") == "0s" && x.Value("sure") == "" {
		return x.ConfirmKey(section, old, Confirmation{
			Question: "Rotate the key " + old.ID.String() + " without an overlap?",
			Consequence: "Within a second, requests with the old key get 401, permanently, " +
				"even from programs that do not have the new key yet.",
			Action: "rotate?overlap=0s&sure=yes",
			Button: "Rotate the key now",
		})
	}
	overlap, err := time.ParseDuration(x.Value("overlap"))
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidField, "choose for how long both keys work")
	}
	rotation, secret, err := x.generator().Rotation(old.ID, overlap)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	rotated, err := x.site.Keys.RotateKey(x.R.Context(), by, rotation)
	if err != nil {
		return secretLost(err)
	}
	if rotated.Replayed {
		return x.GoTo(keyPath(rotated.Value.New.ID), "repeated")
	}
	return x.showSecret(section, newKey{
		Key:    rotated.Value.New,
		Secret: secret.Reveal(),
		Old:    &rotated.Value.Old,
	})
}

// newKey is a key whose secret is shown, once.
type newKey struct {
	Key    petcat.Key
	Secret string
	Old    *petcat.Key // the key that it replaces, nil for none
}

// showSecret shows a new key.
func (x *Exchange) showSecret(section string, k newKey) error {
	return x.Render("new-key", View{
		Title:   "New key",
		Section: section,
		Data:    k,
	})
}

// secretLost returns the error of a key that may have been created, although its secret is lost.
func secretLost(err error) error {
	if !errors.Is(err, petcat.ErrOutcomeUnknown) {
		return err
	}
	return petcat.Errorf(petcat.CodeServiceUnavailable,
		"a key may have been created, but its secret is lost; "+
			"check the account's keys and revoke it").WithCause(err)
}

// ConfirmKey asks before a key change. The path of the change is below the page of the key.
func (x *Exchange) ConfirmKey(section string, k petcat.Key, c Confirmation) error {
	v, err := x.Look(k)
	if err != nil {
		return err
	}
	c.Key = &v
	c.Back = keyPath(k.ID)
	c.Action = c.Back + "/" + c.Action
	return x.Confirm(section, c)
}

// ConfirmRevoke asks before a key is revoked.
func (x *Exchange) ConfirmRevoke(section string, k petcat.Key, alternative string) error {
	return x.ConfirmKey(section, k, Confirmation{
		Question:    "Revoke the key " + k.ID.String() + "?",
		Consequence: "Within a second, requests with it get 401, permanently. " + alternative,
		Action:      "revoke",
		Button:      "Revoke the key",
	})
}

// EditKey sets a key's label, expiry and networks from the form, and redirects to its page.
func (x *Exchange) EditKey(k petcat.Key) error {
	label := x.Value("label")
	expiresAt, err := x.newExpiry(k)
	if err != nil {
		return err
	}
	networks, err := x.newNetworks()
	if err != nil {
		return err
	}
	edit, err := petcat.ParseKeyEdit(&label, expiresAt, networks)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	edited, err := x.site.Keys.EditKey(x.R.Context(), by, k.ID, edit)
	if err != nil {
		return err
	}
	return x.Made(keyPath(k.ID), edited.Replayed, "edited")
}

// newExpiry returns the expiry in the form, or nil if it is unchanged. The form shows only the day: if it
// is unchanged, so is the time of day. A customer's form for an expired key does not have an expiry.
func (x *Exchange) newExpiry(k petcat.Key) (*time.Time, error) {
	if !x.R.Form.Has("expires") {
		return nil, nil
	}
	if x.Value("expires") == k.ExpiresAt.Format(time.DateOnly) {
		return nil, nil
	}
	day, err := x.Date("expires", "the day on which it expires")
	return &day, err
}

// newNetworks returns the networks in the form, nil without such a field.
func (x *Exchange) newNetworks() (*petcat.Networks, error) {
	if !x.R.Form.Has("networks") {
		return nil, nil
	}
	networks, err := petcat.ReadNetworks(x.Value("networks"))
	return &networks, err
}

// ChangeKey changes a key, and redirects to its page.
func (x *Exchange) ChangeKey(id petcat.KeyID, action petcat.KeyAction, done string) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	changed, err := x.site.Keys.ChangeKey(x.R.Context(), by, id, action)
	if err != nil {
		return err
	}
	return x.Made(keyPath(id), changed.Replayed, done)
}

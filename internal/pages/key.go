package pages

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// KeyView is a key with its current state.
type KeyView struct {
	petcat.Key

	Owner  petcat.Account
	Ban    *petcat.Ban // the last one, nil without one
	Banned bool
}

// Look returns the view of a key.
func (x *Exchange) Look(k petcat.Key) (v KeyView, err error) {
	ctx, store := x.R.Context(), x.site.Store
	v.Key = k
	if v.Owner, err = store.FindAccount(ctx, k.Account.String()); err != nil {
		return v, err
	}
	last, err := store.BanPage(ctx, petcat.BanQuery{Account: k.Account, After: k.ID - 1, Limit: 1})
	if len(last) == 1 && last[0].Key == k.ID {
		v.Ban, v.Banned = &last[0], last[0].Active(x.site.now())
	}
	return v, err
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
func (x *Exchange) KeyList(account petcat.AccountID) (v KeyList, err error) {
	before, _ := petcat.ParseKeyID(x.Value("before")) // 0 without one
	page, err := x.site.Store.KeyPage(x.R.Context(), petcat.KeyQuery{Account: account, Before: before, Limit: Size + 1})
	if err != nil {
		return v, err
	}
	page, v.Next = Cut(page)
	v.Paged = before != 0
	v.Bans, v.More, err = x.BansInForce(petcat.BanQuery{Account: account})
	for _, k := range page {
		v.Keys = append(v.Keys, KeyView{Key: k, Banned: slices.ContainsFunc(v.Bans, func(b petcat.Ban) bool { return b.Key == k.ID })})
	}
	return v, err
}

// BansInForce returns at most [Size] bans in force, and reports whether there are more.
func (x *Exchange) BansInForce(q petcat.BanQuery) (all []petcat.Ban, more bool, err error) {
	q.Active, q.Limit = x.site.now(), Size+1
	all, err = x.site.Store.BanPage(x.R.Context(), q)
	all, next := Cut(all)
	return slices.DeleteFunc(all, func(b petcat.Ban) bool { return !b.Active(q.Active) }), next != nil, err
}

// CreateKey creates a key of an account with the form's label, expires and read_only, and shows
// it.
func (x *Exchange) CreateKey(section string, account petcat.AccountID) error {
	terms := petcat.KeyTerms{Label: x.Value("label"), ReadOnly: x.Value("read_only") != ""}
	var err error
	if terms.ExpiresAt, err = x.Date("expires", "the day on which it expires"); err != nil {
		return err
	}
	key, secret, err := x.generator().NewKey(account, terms, x.site.now())
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	created, err := x.site.Store.CreateKey(x.R.Context(), by, key)
	if err == nil && created.Replayed {
		return x.GoTo("keys/"+created.Value.ID.String(), "repeated")
	}
	return x.showKey(section, newKey{Key: created.Value, Secret: secret.Reveal()}, err)
}

func (x *Exchange) generator() petcat.KeyGenerator {
	return petcat.KeyGenerator{Environment: x.site.Environment, Random: rand.Reader}
}

// RotateKey replaces a key with the form's overlap, and shows the new one. It asks before a
// rotation without an overlap.
func (x *Exchange) RotateKey(section string, old petcat.Key) error {
	if x.Value("overlap") == "0s" && x.Value("sure") == "" {
		return x.ConfirmKey(section, old, Confirmation{
			Question:    "Rotate the key " + old.ID.String() + " without an overlap?",
			Consequence: "Within a second, requests with the old key get 401, permanently, even from programs that do not have the new key yet.",
			Action:      "rotate?overlap=0s&sure=yes", Button: "Rotate the key now",
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
	rotated, err := x.site.Store.RotateKey(x.R.Context(), by, rotation)
	if err == nil && rotated.Replayed {
		return x.GoTo("keys/"+rotated.Value.New.ID.String(), "repeated")
	}
	return x.showKey(section, newKey{Key: rotated.Value.New, Secret: secret.Reveal(), Old: &rotated.Value.Old}, err)
}

// newKey is a key whose secret is shown, once.
type newKey struct {
	Key    petcat.Key
	Secret string
	Old    *petcat.Key // the key that it replaces, nil for none
}

// showKey shows a new key, unless creating it failed.
func (x *Exchange) showKey(section string, k newKey, err error) error {
	if errors.Is(err, petcat.ErrOutcomeUnknown) {
		return petcat.Errorf(petcat.CodeServiceUnavailable, "a key may have been created, but its secret is lost; check the account's keys and revoke it").WithCause(err)
	}
	if err != nil {
		return err
	}
	return x.Render("new-key", View{Title: "New key", Section: section, Data: k})
}

// ConfirmKey asks before a change of a key. The path of the change is below the page of the key.
func (x *Exchange) ConfirmKey(section string, k petcat.Key, c Confirmation) error {
	v, err := x.Look(k)
	if err != nil {
		return err
	}
	c.Back = "keys/" + k.ID.String()
	c.Key, c.Action = &v, c.Back+"/"+c.Action
	return x.Confirm(section, c)
}

// ConfirmRevoke asks before a key is revoked.
func (x *Exchange) ConfirmRevoke(section string, k petcat.Key, alternative string) error {
	return x.ConfirmKey(section, k, Confirmation{
		Question:    "Revoke the key " + k.ID.String() + "?",
		Consequence: "Within a second, requests with it get 401, permanently. " + alternative,
		Action:      "revoke", Button: "Revoke the key",
	})
}

// ChangeKey changes a key, and redirects to its page.
func (x *Exchange) ChangeKey(id petcat.KeyID, action petcat.KeyAction, done string) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	changed, err := x.site.Store.ChangeKey(x.R.Context(), by, id, action)
	if err != nil {
		return err
	}
	return x.Made("keys/"+id.String(), changed.Replayed, done)
}

// Limiter reports the usage of an account without charging it.
type Limiter interface {
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Window is a named window of the limiter.
type Window struct {
	Name string
	ratelimit.WindowState
}

// End returns the end of the window.
func (w Window) End() time.Time { return time.Unix(w.Reset, 0) }

// Windows returns the windows of an account, or nil if its usage is unknown.
func (x *Exchange) Windows(l Limiter, a petcat.Account) []Window {
	if a.Closed() {
		return nil
	}
	d, err := l.Peek(x.R.Context(), ratelimit.Charge{Account: a.ID, Quota: a.Quota})
	if err != nil {
		return nil
	}
	return []Window{{"this minute", d.Minute}, {"today", d.Day}}
}

// WriteUsage sends a usage history for its chart: times in Unix seconds, and for each period
// its beginning and the numbers of admitted, refused and failed requests. The chart ends now at the
// latest, because a browser draws every period until its end.
func (x *Exchange) WriteUsage(q petcat.UsageQuery) error {
	h, err := x.site.Store.Usage(x.R.Context(), q)
	if err != nil {
		return err
	}
	periods := [][4]int64{}
	for _, p := range h.Periods {
		periods = append(periods, [4]int64{p.Begin.Unix(), p.Requests, p.Refused(), p.Failed})
	}
	to := min(q.To.Unix(), x.site.now().Unix())
	return x.WriteJSON(map[string]any{"from": q.Step.Floor(q.From).Unix(), "to": to, "step": q.Step.Length().Seconds(), "periods": periods})
}

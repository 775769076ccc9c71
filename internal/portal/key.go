package portal

import (
	"time"

	"petcat"
	"petcat/internal/pages"
)

func key(x *exchange, k petcat.Key) error {
	v, err := x.Look(k)
	if err != nil {
		return err
	}
	return x.Render("key", pages.View{Title: k.ID.String(), Section: "overview", Data: v})
}

func createKey(x *exchange) error { return x.CreateKey("overview", x.account.ID) }

func rotateKey(x *exchange, old petcat.Key) error { return x.RotateKey("overview", old) }

// editKey changes label and expiry.
func editKey(x *exchange, k petcat.Key) error {
	label := x.Value("label")
	expiresAt, err := newExpiry(x, k)
	if err != nil {
		return err
	}
	edit, err := petcat.ParseKeyEdit(&label, expiresAt, x.Clock.Read().Time())
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	edited, err := x.Store.EditKey(x.R.Context(), by, k.ID, edit)
	if err != nil {
		return err
	}
	return x.Made("keys/"+k.ID.String(), edited.Replayed, "edited")
}

// newExpiry returns the expiry in the form, or nil if it is unchanged. The form shows the day alone:
// if that is unchanged, so is the time of day. The form of an expired key has no expiry.
func newExpiry(x *exchange, k petcat.Key) (*time.Time, error) {
	if !x.R.Form.Has("expires") || x.Value("expires") == k.ExpiresAt.Format(time.DateOnly) {
		return nil, nil
	}
	day, err := x.Date("expires", "the day on which it expires")
	return &day, err
}

func revokeKey(x *exchange, k petcat.Key) error {
	return x.ChangeKey(k.ID, petcat.RevokeKey, "revoked")
}

func confirmRevoke(x *exchange, k petcat.Key) error {
	return x.ConfirmRevoke("overview", k, "To replace a key without a gap, rotate it instead.")
}

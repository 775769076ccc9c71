package console

import (
	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// findKey returns the key in the path.
func (c *Console) findKey(x *pages.Exchange) (petcat.Key, error) {
	id, err := petcat.ParseKeyID(x.R.PathValue("key"))
	if err != nil {
		return petcat.Key{}, pages.NotFound()
	}
	return c.Store.FindKey(x.R.Context(), id)
}

func (c *Console) key(x *pages.Exchange) error {
	k, err := c.findKey(x)
	if err != nil {
		return err
	}
	return x.ShowKey("accounts", k)
}

func (c *Console) createKey(x *pages.Exchange) error {
	a, err := c.findAccount(x)
	if err != nil {
		return err
	}
	return x.CreateKey("accounts", a.ID)
}

func (c *Console) rotateKey(x *pages.Exchange) error {
	k, err := c.findKey(x)
	if err != nil {
		return err
	}
	return x.RotateKey("accounts", k)
}

func (c *Console) editKey(x *pages.Exchange) error {
	k, err := c.findKey(x)
	if err != nil {
		return err
	}
	return x.EditKey(k)
}

func (c *Console) disableKey(x *pages.Exchange) error {
	k, err := c.findKey(x)
	if err != nil {
		return err
	}
	return x.ChangeKey(k.ID, petcat.DisableKey, "disabled")
}

func (c *Console) enableKey(x *pages.Exchange) error {
	k, err := c.findKey(x)
	if err != nil {
		return err
	}
	return x.ChangeKey(k.ID, petcat.EnableKey, "enabled")
}

func (c *Console) confirmRevoke(x *pages.Exchange) error {
	k, err := c.findKey(x)
	if err != nil {
		return err
	}
	return x.ConfirmRevoke("accounts", k,
		"If you are not sure, disable it instead: that can be undone.")
}

func (c *Console) revokeKey(x *pages.Exchange) error {
	k, err := c.findKey(x)
	if err != nil {
		return err
	}
	return x.ChangeKey(k.ID, petcat.RevokeKey, "revoked")
}

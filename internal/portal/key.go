package portal

import (
	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// findKey returns the key in the path, which must belong to the account.
func (p *Portal) findKey(x *pages.Exchange) (petcat.Key, error) {
	id, err := petcat.ParseKeyID(x.R.PathValue("key"))
	if err != nil {
		return petcat.Key{}, pages.NotFound()
	}
	k, err := p.Store.FindKey(x.R.Context(), id)
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return petcat.Key{}, noSuchKey(id)
	}
	if err != nil {
		return petcat.Key{}, err
	}
	if k.Account != x.Session.Account.ID {
		return petcat.Key{}, noSuchKey(id)
	}
	return k, nil
}

func noSuchKey(id petcat.KeyID) error {
	return petcat.Errorf(petcat.CodeNotFound, "your account has no key %s", id)
}

func (p *Portal) key(x *pages.Exchange) error {
	k, err := p.findKey(x)
	if err != nil {
		return err
	}
	return x.ShowKey("overview", k)
}

func (p *Portal) createKey(x *pages.Exchange) error {
	return x.CreateKey("overview", x.Session.Account.ID)
}

func (p *Portal) rotateKey(x *pages.Exchange) error {
	k, err := p.findKey(x)
	if err != nil {
		return err
	}
	return x.RotateKey("overview", k)
}

func (p *Portal) editKey(x *pages.Exchange) error {
	k, err := p.findKey(x)
	if err != nil {
		return err
	}
	return x.EditKey(k)
}

func (p *Portal) confirmRevoke(x *pages.Exchange) error {
	k, err := p.findKey(x)
	if err != nil {
		return err
	}
	return x.ConfirmRevoke("overview", k,
		"To replace a key without a gap, rotate it instead. "+
			"If somebody else may be signed in to this account, also sign out everywhere.")
}

func (p *Portal) revokeKey(x *pages.Exchange) error {
	k, err := p.findKey(x)
	if err != nil {
		return err
	}
	return x.ChangeKey(k.ID, petcat.RevokeKey, "revoked")
}

package management

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/representation"
)

// KeyStore is the part of [petcat.KeyStore] that the API calls.
type KeyStore interface {
	FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error)
	FindKeys(ctx context.Context, hashes []petcat.KeyHash) ([]petcat.Key, error)
	KeyPage(ctx context.Context, q petcat.KeyQuery) ([]petcat.Key, error)
	CreateKey(
		ctx context.Context, by petcat.Author, k petcat.NewKey,
	) (petcat.Result[petcat.Key], error)
	EditKey(
		ctx context.Context, by petcat.Author, id petcat.KeyID, e petcat.KeyEdit,
	) (petcat.Result[petcat.Key], error)
	RotateKey(
		ctx context.Context, by petcat.Author, r petcat.Rotation,
	) (petcat.Result[petcat.RotatedKey], error)
	ChangeKey(
		ctx context.Context, by petcat.Author, id petcat.KeyID, action petcat.KeyAction,
	) (petcat.Result[petcat.Key], error)
}

// key finds the key in the path.
func (a *API) key(c *call) (petcat.Key, error) {
	id, err := petcat.ParseKeyID(c.r.PathValue("key"))
	if err != nil {
		return petcat.Key{}, err
	}
	return a.Store.FindKey(c.ctx(), id)
}

// listKeys handles GET /accounts/{account}/keys.
func (a *API) listKeys(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	return a.keyPage(c, petcat.KeyQuery{Account: account.ID})
}

// listAllKeys handles GET /keys: it lists the keys of all accounts, or those with a hint.
func (a *API) listAllKeys(c *call) error {
	var q petcat.KeyQuery
	if c.r.URL.Query().Has("hint") {
		hint, err := petcat.ParseKeyHint(c.query("hint"))
		if err != nil {
			return err
		}
		q.Hint = hint
	}
	return a.keyPage(c, q)
}

// keyPage sends the requested page of the keys that a query selects.
func (a *API) keyPage(c *call, q petcat.KeyQuery) error {
	limit, before, err := page(c, petcat.ParseKeyID)
	if err != nil {
		return err
	}
	q.Before, q.Limit = before, limit
	keys, err := a.Store.KeyPage(c.ctx(), q)
	if err != nil {
		return err
	}
	if len(keys) == limit {
		c.linkNext(keys[limit-1].ID)
	}
	return okAll(c, keys)
}

// textJSON is the body with a text to search.
type textJSON struct {
	Text string `json:"text"`
}

// findKeys handles POST /keys/find: it lists the keys and tokens whose secrets a text contains, such as a
// leaked file.
func (a *API) findKeys(c *call) error {
	var body textJSON
	if err := c.read(&body); err != nil {
		return err
	}
	if body.Text == "" {
		return petcat.Errorf(petcat.CodeMissingField, "text is required: whole keys, or a text that contains them")
	}
	leaked := petcat.FindLeaked(a.Keys.Environment, body.Text)
	keys, err := a.Store.FindKeys(c.ctx(), leaked.Keys)
	if err != nil {
		return err
	}
	tokens, err := a.Store.FindTokens(c.ctx(), leaked.Tokens)
	if err != nil {
		return err
	}
	return c.ok(representation.Record{
		representation.KV("keys", recordsOf(c, keys)),
		representation.KV("tokens", recordsOf(c, tokens)),
	})
}

// getKey handles GET /keys/{key}.
func (a *API) getKey(c *call) error {
	k, err := a.key(c)
	if err != nil {
		return err
	}
	return c.ok(k)
}

// newKeyJSON is the body about a new key.
type newKeyJSON struct {
	Label     string    `json:"label"`
	ExpiresAt time.Time `json:"expires_at"`
	ReadOnly  bool      `json:"read_only"`
	Networks  []string  `json:"networks"`
}

// createKey handles POST /accounts/{account}/keys.
func (a *API) createKey(c *call) error {
	account, err := a.account(c)
	if err != nil {
		return err
	}
	var body newKeyJSON
	if err := c.read(&body); err != nil {
		return err
	}
	networks, err := petcat.ParseNetworks(body.Networks)
	if err != nil {
		return err
	}
	asked, secret, err := a.Keys.NewKey(account.ID, petcat.KeyTerms{
		Label:     body.Label,
		ExpiresAt: body.ExpiresAt,
		ReadOnly:  body.ReadOnly,
		Networks:  networks,
	})
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	made, err := a.Store.CreateKey(c.ctx(), by, asked)
	if err != nil {
		return err
	}
	return c.createdKey(made.Value, secret, made.Replayed)
}

// createdKey sends a new key with its secret. A replay has none, because only its hash is stored.
func (c *call) createdKey(k petcat.Key, secret petcat.Secret, replayed bool) error {
	c.replayed(replayed)
	shown := representation.Key(k, c.now)
	if !replayed {
		shown = append(shown, representation.KV("key", secret.Reveal()))
	}
	return c.created("/keys/"+k.ID.String(), shown)
}

// keyEditJSON is the body of a key change. Members that were not sent are nil. An expiry of
// null means never.
type keyEditJSON struct {
	Label     *string        `json:"label"`
	ExpiresAt jsontext.Value `json:"expires_at"`
	Networks  *[]string      `json:"networks"`
}

// expiry returns the new expiry, nil if it was not sent.
func (b keyEditJSON) expiry() (*time.Time, error) {
	if b.ExpiresAt == nil {
		return nil, nil
	}
	var t time.Time
	if err := json.Unmarshal(b.ExpiresAt, &t); err != nil {
		return nil, petcat.Errorf(petcat.CodeInvalidField,
			"expires_at must be a time such as 2027-01-31T00:00:00Z, or null for never").In("expires_at")
	}
	return &t, nil
}

// edit validates the change.
func (b keyEditJSON) edit() (petcat.KeyEdit, error) {
	expiry, err := b.expiry()
	if err != nil {
		return petcat.KeyEdit{}, err
	}
	if b.Networks == nil {
		return petcat.ParseKeyEdit(b.Label, expiry, nil)
	}
	networks, err := petcat.ParseNetworks(*b.Networks)
	if err != nil {
		return petcat.KeyEdit{}, err
	}
	return petcat.ParseKeyEdit(b.Label, expiry, &networks)
}

// editKey handles PATCH /keys/{key}.
func (a *API) editKey(c *call) error {
	k, err := a.key(c)
	if err != nil {
		return err
	}
	var body keyEditJSON
	if err := c.readEdit(&body, "expires_at"); err != nil {
		return err
	}
	edit, err := body.edit()
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	edited, err := a.Store.EditKey(c.ctx(), by, k.ID, edit)
	if err != nil {
		return err
	}
	return c.ok(edited.Value)
}

// rotationJSON is the body about a rotation.
type rotationJSON struct {
	Overlap string `json:"overlap"`
}

// rotateKey handles POST /keys/{key}/rotate.
func (a *API) rotateKey(c *call) error {
	k, err := a.key(c)
	if err != nil {
		return err
	}
	var body rotationJSON
	if err := c.read(&body); err != nil {
		return err
	}
	overlap, err := config.ParseOverlap(body.Overlap)
	if err != nil {
		return err
	}
	rotation, secret, err := a.Keys.Rotation(k.ID, overlap)
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	rotated, err := a.Store.RotateKey(c.ctx(), by, rotation)
	if err != nil {
		return err
	}
	return c.createdKey(rotated.Value.New, secret, rotated.Replayed)
}

// disableKey handles POST /keys/{key}/disable.
func (a *API) disableKey(c *call) error { return a.changeKey(c, petcat.DisableKey) }

// enableKey handles POST /keys/{key}/enable.
func (a *API) enableKey(c *call) error { return a.changeKey(c, petcat.EnableKey) }

// revokeKey handles POST /keys/{key}/revoke.
func (a *API) revokeKey(c *call) error { return a.changeKey(c, petcat.RevokeKey) }

// changeKey changes the state of the key in the path.
func (a *API) changeKey(c *call, action petcat.KeyAction) error {
	k, err := a.key(c)
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	changed, err := a.Store.ChangeKey(c.ctx(), by, k.ID, action)
	if err != nil {
		return err
	}
	c.replayed(changed.Replayed)
	return c.ok(changed.Value)
}

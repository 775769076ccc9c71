package management

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/representation"
)

// TokenStore is the part of [petcat.OperatorTokenStore] that the API calls.
type TokenStore interface {
	FindToken(ctx context.Context, token petcat.TokenHash) (petcat.OperatorToken, error)
	FindTokens(ctx context.Context, tokens []petcat.TokenHash) ([]petcat.OperatorToken, error)
	Tokens(ctx context.Context) ([]petcat.OperatorToken, error)
	TouchToken(ctx context.Context, id petcat.OperatorTokenID) error
	CreateToken(ctx context.Context, by petcat.Author, n petcat.NewToken) (petcat.Result[petcat.OperatorToken], error)
	RevokeToken(
		ctx context.Context, by petcat.Author, name petcat.OperatorName,
	) (petcat.Result[petcat.OperatorToken], error)
}

// identify sets the token of a call. Only an invalid token counts as a failed attempt of the
// client's address.
func (a *API) identify(c *call) error {
	token, err := a.findToken(c)
	if err == nil {
		c.token = token
		return nil
	}
	code := petcat.CodeOf(err)
	if isFailure(code) {
		if d := a.Door.Fail(a.client(c)); d.Rejected {
			return petcat.Errorf(petcat.CodeTooManyFailedAttempts,
				"too many attempts with a wrong token; wait until Retry-After has passed").
				After(time.Duration(d.RetryAfter) * time.Second)
		}
	}
	if isFailure(code) || code == petcat.CodeMissingToken {
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="petcat admin"`)
	}
	return err
}

// isFailure reports whether a code means a failed attempt.
func isFailure(code petcat.Code) bool {
	return code == petcat.CodeInvalidToken || code == petcat.CodeExpiredToken || code == petcat.CodeRevokedToken
}

// client returns the client of a call, for the door.
func (a *API) client(c *call) clientnet.Net {
	return clientnet.Of(a.TrustedProxies.Client(c.r.RemoteAddr, c.r.Header))
}

// findToken looks up the token in the Authorization header. It returns an error if it is not active.
func (a *API) findToken(c *call) (petcat.OperatorToken, error) {
	hash, err := sentToken(c)
	if err != nil {
		return petcat.OperatorToken{}, err
	}
	var token petcat.OperatorToken
	err = a.Door.LookUp(c.ctx(), a.client(c), func() (err error) {
		// An attempt counts even if its client disconnects.
		token, err = a.Store.FindToken(context.WithoutCancel(c.ctx()), hash)
		return err
	})
	if err != nil {
		return petcat.OperatorToken{}, err
	}
	switch state := token.State(c.now); state {
	case petcat.KeyActive:
		return token, nil
	case petcat.KeyExpired:
		return petcat.OperatorToken{}, petcat.Errorf(petcat.CodeExpiredToken, "this token has expired; use another one")
	default:
		return petcat.OperatorToken{}, petcat.Errorf(petcat.CodeRevokedToken, "this token is %s; use another one", state)
	}
}

// listTokens handles GET /tokens.
func (a *API) listTokens(c *call) error {
	tokens, err := a.Store.Tokens(c.ctx())
	if err != nil {
		return err
	}
	return okAll(c, tokens)
}

// newTokenJSON is the body about a new token.
type newTokenJSON struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	ExpiresAt time.Time `json:"expires_at"`
}

// createToken handles POST /tokens. A replay lacks the secret, because only its hash is stored.
func (a *API) createToken(c *call) error {
	var body newTokenJSON
	if err := c.read(&body); err != nil {
		return err
	}
	name, err := petcat.ParseOperatorName(body.Name)
	if err != nil {
		return err
	}
	role, err := petcat.ParseRole(body.Role)
	if err != nil {
		return err
	}
	token, err := petcat.GenerateOperatorToken(a.Keys.Random)
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	made, err := a.Store.CreateToken(c.ctx(), by, petcat.NewToken{
		Name:      name,
		Role:      role,
		ExpiresAt: body.ExpiresAt,
		Hash:      token.Hash,
		Hint:      token.Hint,
	})
	if err != nil {
		return err
	}
	c.replayed(made.Replayed)
	shown := representation.Token(made.Value, c.now)
	if !made.Replayed {
		shown = append(shown, representation.KV("token", token.Secret.Reveal()))
	}
	return c.send(http.StatusCreated, shown)
}

// revokeToken handles POST /tokens/{token}/revoke.
func (a *API) revokeToken(c *call) error {
	name, err := petcat.ParseOperatorName(c.r.PathValue("token"))
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	revoked, err := a.Store.RevokeToken(c.ctx(), by, name)
	if err != nil {
		return err
	}
	c.replayed(revoked.Replayed)
	return c.ok(revoked.Value)
}

// sentToken parses the Authorization header.
func sentToken(c *call) (petcat.TokenHash, error) {
	values := c.r.Header.Values("Authorization")
	if len(values) == 0 {
		return petcat.TokenHash{}, petcat.Errorf(petcat.CodeMissingToken, "send an operator token "+
			"as Authorization: Bearer <TOKEN>; petcat operator token create makes one")
	}
	scheme, credential, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "bearer") {
		return petcat.TokenHash{}, petcat.Errorf(petcat.CodeInvalidToken,
			"send one token, as Authorization: Bearer <TOKEN>")
	}
	return petcat.ParseOperatorToken(strings.Trim(credential, " "))
}

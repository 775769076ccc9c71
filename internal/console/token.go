package console

import (
	"crypto/rand"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// newTokenView is a token of the management API whose secret is shown, once.
type newTokenView struct {
	Token  petcat.OperatorToken
	Secret string
}

func (c *Console) createToken(x *pages.Exchange) error {
	name, err := petcat.ParseOperatorName(x.Value("token"))
	if err != nil {
		return err
	}
	role, err := petcat.ParseRole(x.Value("token_role"))
	if err != nil {
		return err
	}
	expiresAt, err := x.Date("token_expires", "the day on which it expires")
	if err != nil {
		return err
	}
	token, err := petcat.GenerateOperatorToken(rand.Reader)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := c.Store.CreateToken(x.R.Context(), by, petcat.NewToken{
		Name:      name,
		Role:      role,
		ExpiresAt: expiresAt,
		Hash:      token.Hash,
		Hint:      token.Hint,
	})
	if petcat.CodeOf(err) == petcat.CodeInvalidField { // the expiry
		return petcat.Public(err).In("token_expires")
	}
	if err != nil {
		return err
	}
	if made.Replayed {
		return x.GoTo("operators", "repeated")
	}
	return x.Render("new-token", pages.View{
		Title:   "New token",
		Section: "operators",
		Data: newTokenView{
			Token:  made.Value,
			Secret: token.Secret.Reveal(),
		},
	})
}

// tokenInPath returns the name of the token in the path.
func tokenInPath(x *pages.Exchange) (petcat.OperatorName, error) {
	return petcat.ParseOperatorName(x.R.PathValue("token"))
}

func (c *Console) confirmRevokeToken(x *pages.Exchange) error {
	name, err := tokenInPath(x)
	if err != nil {
		return err
	}
	return x.Confirm("operators", pages.Confirmation{
		Question:    "Revoke the token " + string(name) + "?",
		Consequence: "Requests with it immediately and permanently get 401. The audit log keeps its entries.",
		Action:      "tokens/" + string(name) + "/revoke",
		Button:      "Revoke the token",
		Back:        "operators",
	})
}

func (c *Console) revokeToken(x *pages.Exchange) error {
	name, err := tokenInPath(x)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	revoked, err := c.Store.RevokeToken(x.R.Context(), by, name)
	if err != nil {
		return err
	}
	return x.Made("operators", revoked.Replayed, "revoked")
}

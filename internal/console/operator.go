package console

import (
	"crypto/rand"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// operatorsView has the users of the console and of the management API.
type operatorsView struct {
	Operators []petcat.Operator
	Tokens    []petcat.OperatorToken
}

func (c *Console) operators(x *pages.Exchange) error {
	operators, err := c.Store.Operators(x.R.Context())
	if err != nil {
		return err
	}
	tokens, err := c.Store.Tokens(x.R.Context())
	if err != nil {
		return err
	}
	return x.Render("operators", pages.View{
		Title:   "Operators",
		Section: "operators",
		Data: operatorsView{
			Operators: operators,
			Tokens:    tokens,
		},
	})
}

// operatorInPath returns the name of the operator in the path.
func operatorInPath(x *pages.Exchange) (petcat.OperatorName, error) {
	return petcat.ParseOperatorName(x.R.PathValue("operator"))
}

// createOperator creates an operator without a link: see createLink.
func (c *Console) createOperator(x *pages.Exchange) error {
	name, err := petcat.ParseOperatorName(x.Value("name"))
	if err != nil {
		return err
	}
	role, err := petcat.ParseRole(x.Value("role"))
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := c.Store.CreateOperator(x.R.Context(), by, name, role, petcat.TokenHash{})
	if err != nil {
		return err
	}
	return x.Made("operators", made.Replayed, "operator")
}

// createLink shows a link of the signed-in operator. Only the command makes other operators' links: with
// one, an operator could sign in under another name.
func (c *Console) createLink(x *pages.Exchange) error {
	token, err := petcat.GenerateToken(rand.Reader)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	of := x.Session.Subject()
	made, err := c.Store.CreateLink(x.R.Context(), by, of, token.Hash)
	if err != nil {
		return err
	}
	if made.Replayed {
		return x.GoTo("operators", "repeated")
	}
	return x.Render("new-link", pages.View{
		Title:   "New link",
		Section: "operators",
		Data: linkView{
			ExpiresAt: made.Value.ExpiresAt,
			Link:      SignInLink(c.URL, token.Secret),
		},
	})
}

// linkView is a sign-in link, which is shown once.
type linkView struct {
	ExpiresAt time.Time
	Link      string
}

func (c *Console) confirmRemove(x *pages.Exchange) error {
	name, err := operatorInPath(x)
	if err != nil {
		return err
	}
	return x.Confirm("operators", pages.Confirmation{
		Question:    "Remove the operator " + string(name) + "?",
		Consequence: "Their sessions and link end immediately. The audit log keeps their entries.",
		Action:      "operators/" + string(name) + "/remove",
		Button:      "Remove the operator",
		Back:        "operators",
	})
}

func (c *Console) removeOperator(x *pages.Exchange) error {
	name, err := operatorInPath(x)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	removed, err := c.Store.RemoveOperator(x.R.Context(), by, name)
	if err != nil {
		return err
	}
	return x.Made("operators", removed.Replayed, "removed")
}

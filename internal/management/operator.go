package management

import (
	"context"
	"net/http"

	"github.com/petcat-api/petcat"
)

// OperatorStore is [petcat.OperatorStore].
type OperatorStore interface {
	Operators(ctx context.Context) ([]petcat.Operator, error)
	CreateOperator(
		ctx context.Context, by petcat.Author, name petcat.OperatorName, role petcat.Role, link petcat.TokenHash,
	) (petcat.Result[petcat.Operator], error)
	RemoveOperator(
		ctx context.Context, by petcat.Author, name petcat.OperatorName,
	) (petcat.Result[petcat.OperatorName], error)
}

// listOperators handles GET /operators.
func (a *API) listOperators(c *call) error {
	operators, err := a.Store.Operators(c.ctx())
	if err != nil {
		return err
	}
	return okAll(c, operators)
}

// newOperatorJSON is the body about a new operator.
type newOperatorJSON struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// createOperator handles POST /operators. It does not create a sign-in link: with one, a program could
// sign in as that person. Only the command makes links.
func (a *API) createOperator(c *call) error {
	var body newOperatorJSON
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
	by, err := c.author(body)
	if err != nil {
		return err
	}
	made, err := a.Store.CreateOperator(c.ctx(), by, name, role, petcat.TokenHash{})
	if err != nil {
		return err
	}
	c.replayed(made.Replayed)
	return c.send(http.StatusCreated, made.Value)
}

// removeOperator handles DELETE /operators/{operator}.
func (a *API) removeOperator(c *call) error {
	name, err := petcat.ParseOperatorName(c.r.PathValue("operator"))
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	if _, err := a.Store.RemoveOperator(c.ctx(), by, name); err != nil {
		return err
	}
	c.noContent()
	return nil
}

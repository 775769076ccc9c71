package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) tokenCommand() *cobra.Command {
	create := p.managing(&cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Create a token for a program, and show it once",
		Long: `Create a token for a program, and show it once. NAME is the name of the token,
not of an operator. If the token cannot be printed, it is revoked, and the exit
code is 75.`,
		Example: `  petcat operator token create ci --role admin --expires 90d`,
	}, withName(createToken))
	roleFlag(create)
	expiresFlag(create)
	revoke := p.managing(&cobra.Command{
		Use:     "revoke NAME",
		Short:   "Permanently revoke a token",
		Example: "  petcat operator token revoke billing",
	}, withName(revokeToken))
	yesFlag(revoke)
	return parent(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens of the management API",
		Long: `Create, list and revoke the bearer tokens of programs for the management API,
/admin/v1 on the admin listener. A token is shown once; only a hash of it is
stored.`,
	},
		create,
		p.managing(&cobra.Command{
			Use:     "list",
			Short:   "List the tokens, including revoked ones",
			Example: "  petcat operator token list",
		}, listTokens),
		revoke,
	)
}

func (p *program) tokenRecord(t petcat.OperatorToken) record {
	return representation.Token(t, p.now())
}

func createToken(c *call, name petcat.OperatorName) error {
	expires, err := c.expiry()
	if err != nil {
		return err
	}
	role, err := c.role()
	if err != nil {
		return err
	}
	token, err := petcat.GenerateOperatorToken(c.random)
	if err != nil {
		return err
	}
	return c.showOnce(func() (secretive, error) {
		made, err := c.store.CreateToken(c.ctx(), petcat.By(actor()), petcat.NewToken{
			Name:      name,
			Role:      role,
			ExpiresAt: expires,
			Hash:      token.Hash,
			Hint:      token.Hint,
		})
		t := made.Value
		return secretive{
			record: append(c.tokenRecord(t), kv("token", token.Secret.Reveal())),
			sentence: fmt.Sprintf(
				"%s is a token with the role %s. Store it now: it will not be shown again.", string(t.Name), t.Role),
			secret: token.Secret.Reveal(),
			undo: func() error {
				_, err := c.store.RevokeToken(c.ctx(), petcat.By(actor()), name)
				return err
			},
			remedy: "revoke it with: petcat operator token revoke " + c.args[0],
		}, err
	})
}

func listTokens(c *call) error {
	tokens, err := c.store.Tokens(c.ctx())
	if err != nil {
		return err
	}
	return c.listTokens(tokens)
}

// listTokens prints tokens, or a hint if there are none.
func (c *call) listTokens(tokens []petcat.OperatorToken) error {
	return c.list(recordsOf(tokens, c.tokenRecord), "id name role hint state created_at expires_at last_used_at",
		"There are no tokens yet; create one with: petcat operator token create NAME --role admin")
}

func revokeToken(c *call, name petcat.OperatorName) error {
	err := c.confirm(c.is("yes"), "Permanently revoke the token %s of %s?",
		string(name), place(c.settings))
	if err != nil {
		return err
	}
	revoked, err := c.store.RevokeToken(c.ctx(), petcat.By(actor()), name)
	err = notFound(err, "operator token")
	return c.done(err, c.tokenRecord(revoked.Value), "The token %s is revoked.", string(name))
}

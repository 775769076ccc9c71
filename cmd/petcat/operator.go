package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/console"
)

func (p *program) operatorCommand() *cobra.Command {
	create := p.managing(&cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Create an operator, and print a sign-in link",
		Long: `Create an operator, and print a sign-in link, which works once, for 15 minutes. It starts
with --console-url, or with the console's address on a running server. Open it where that
address is reachable: by default on the machine itself, or through a tunnel such as
ssh -L 8081:127.0.0.1:8081 HOST.`,
		Example: `  petcat operator create ada --role admin
  petcat operator create bob --role viewer --console-url https://console.example.com`,
	}, withName(createOperator), append(listeners(), "console-url")...)
	roleFlag(create)
	remove := p.managing(&cobra.Command{Use: "remove NAME", Short: "Remove an operator and end their sessions immediately"}, withName(removeOperator))
	yesFlag(remove)
	return parent(&cobra.Command{
		Use:   "operator",
		Short: "Create, list and remove operators of the console, and tokens for programs",
		Long: `Create, list and remove operators. An operator may use the console, the web pages on the
admin listener of each server, and signs in with a link that works once, for 15 minutes.
An admin may see and change everything, a viewer may only see it. Running servers apply
changes immediately.`,
	},
		create,
		p.managing(&cobra.Command{
			Use:   "link NAME",
			Short: "Print a new sign-in link for an operator",
			Long: `Print a new sign-in link for an operator. It replaces an unused link. Open sessions stay
open.`,
		}, withName(linkOperator), append(listeners(), "console-url")...),
		p.managing(&cobra.Command{Use: "list", Short: "List the operators and their number of open sessions"}, listOperators),
		remove,
		p.tokenCommand(),
	)
}

func roleFlag(cmd *cobra.Command) {
	cmd.Flags().String("role", "", "give this `role`: admin, to change everything, or viewer, to read only")
	complete(cmd, "role", string(petcat.RoleAdmin), string(petcat.RoleViewer))
}

// withName passes the name in the first argument to run.
func withName(run func(*call, petcat.OperatorName) error) func(*call) error {
	return func(c *call) error {
		name, err := petcat.ParseOperatorName(c.args[0])
		if err != nil {
			return usage(err)
		}
		return run(c, name)
	}
}

// role returns --role.
func (c *call) role() (petcat.Role, error) {
	role, err := petcat.ParseRole(c.text("role"))
	return role, usage(err)
}

func (p *program) tokenCommand() *cobra.Command {
	create := p.managing(&cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Create a token for a program, and show it once",
		Long: `Create a token for a program, and show it once. NAME is the name of the token, not of an
operator. If the token cannot be printed, it is revoked, and the exit code is 75.`,
		Example: `  petcat operator token create ci --role admin --expires 90d`,
	}, withName(createToken))
	roleFlag(create)
	expiresFlag(create)
	revoke := p.managing(&cobra.Command{Use: "revoke NAME", Short: "Permanently revoke a token"}, withName(revokeToken))
	yesFlag(revoke)
	return parent(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens of the management API",
		Long: `Create, list and revoke the bearer tokens of programs for the management API, /admin/v1 on
the admin listener. A token is shown once; only a hash of it is stored.`,
	},
		create,
		p.managing(&cobra.Command{Use: "list", Short: "List the tokens, including revoked ones"}, listTokens),
		revoke,
	)
}

func (p *program) tokenRecord(t petcat.OperatorToken) record {
	return record{
		kv("id", int64(t.ID)), kv("name", string(t.Name)), kv("role", t.Role), kv("state", t.State(p.now())),
		kv("created_at", t.CreatedAt), kv("expires_at", t.ExpiresAt), kv("revoked_at", t.RevokedAt),
	}
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
		})
		t := made.Value
		return secretive{
			record:   append(c.tokenRecord(t), kv("token", token.Secret.Reveal())),
			sentence: fmt.Sprintf("%s is a token with the role %s. Store it now: it will not be shown again.", string(t.Name), t.Role),
			secret:   token.Secret.Reveal(),
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
	return c.list(recordsOf(tokens, c.tokenRecord), "id name role state created_at expires_at",
		"There are no tokens yet; create one with: petcat operator token create NAME --role admin")
}

func revokeToken(c *call, name petcat.OperatorName) error {
	if err := c.confirm(c.is("yes"), "Permanently revoke the token %s of %s?", string(name), place(c.settings)); err != nil {
		return err
	}
	revoked, err := c.store.RevokeToken(c.ctx(), petcat.By(actor()), name)
	err = notFound(err, "operator token")
	return c.done(err, c.tokenRecord(revoked.Value), "The token %s is revoked.", string(name))
}

func createOperator(c *call, name petcat.OperatorName) error {
	role, err := c.role()
	if err != nil {
		return err
	}
	create := func(link petcat.TokenHash) (record, time.Time, error) {
		made, err := c.store.CreateOperator(c.ctx(), petcat.By(actor()), name, role, link)
		return operatorRecord(made.Value), made.Value.LinkEndsAt, err
	}
	remove := func() error {
		_, err := c.store.RemoveOperator(c.ctx(), petcat.By(actor()), name)
		return err
	}
	return c.showLink(name, create, remove)
}

func linkOperator(c *call, name petcat.OperatorName) error {
	create := func(link petcat.TokenHash) (record, time.Time, error) {
		made, err := c.store.CreateLink(c.ctx(), petcat.By(actor()), petcat.Subject{Operator: name}, link)
		end := made.Value.EndsAt
		return record{kv("name", string(name)), kv("link_ends_at", end)}, end, err
	}
	return c.showLink(name, create, func() error { return nil }) // the link cannot be used without its token
}

// showLink creates a sign-in link for an operator, and shows it.
func (c *call) showLink(name petcat.OperatorName, create func(petcat.TokenHash) (record, time.Time, error), undo func() error) error {
	base, err := c.consoleURL()
	if err != nil {
		return err
	}
	token, err := petcat.GenerateToken(c.random)
	if err != nil {
		return err
	}
	return c.showOnce(func() (secretive, error) {
		created, end, err := create(token.Hash)
		link := console.SignInLink(base, token.Secret)
		return secretive{
			record:   append(created, kv("link", link)),
			sentence: fmt.Sprintf("%s signs in once with this link, until %s:", string(name), timestamp(end)),
			secret:   link, undo: undo, remedy: "remove the operator with: petcat operator remove " + string(name),
		}, err
	})
}

// consoleURL returns the URL of the console for browsers.
func (c *call) consoleURL() (string, error) {
	url := c.urlOf(c.settings.ConsoleURL, "--admin-listen", func(n petcat.Node) string { return n.ConsoleURL })
	if url != "" {
		return url, nil
	}
	return c.settings.AdminURL()
}

func operatorRecord(o petcat.Operator) record {
	return record{kv("name", string(o.Name)), kv("role", o.Role), kv("created_at", o.CreatedAt), kv("sessions", o.Sessions), kv("link_ends_at", o.LinkEndsAt)}
}

func listOperators(c *call) error {
	operators, err := c.store.Operators(c.ctx())
	if err != nil {
		return err
	}
	return c.list(recordsOf(operators, func(o petcat.Operator) record {
		if !c.now().Before(o.LinkEndsAt) {
			o.LinkEndsAt = time.Time{}
		}
		return operatorRecord(o)
	}), "name role sessions link_ends_at created_at", "There are no operators yet; create one with: petcat operator create NAME --role admin")
}

func removeOperator(c *call, name petcat.OperatorName) error {
	if err := c.confirm(c.is("yes"), "Remove the operator %s of %s and end their sessions?", string(name), place(c.settings)); err != nil {
		return err
	}
	_, err := c.store.RemoveOperator(c.ctx(), petcat.By(actor()), name)
	removed := record{kv("name", string(name))}
	return c.done(err, removed, "The operator %s is removed, and their sessions have ended.", string(name))
}

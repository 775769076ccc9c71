package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/console"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) operatorCommand() *cobra.Command {
	create := p.managing(&cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Create an operator, and print a sign-in link",
		Long: `Create an operator, and print a sign-in link, which works once, within 15
minutes. The link starts with --console-url, or with the console's address on a
running server. Open it where that address is reachable: by default on the
machine itself, or through a tunnel such as ssh -L 8081:127.0.0.1:8081 HOST.`,
		Example: `  petcat operator create ada --role admin
  petcat operator create bob --role viewer --console-url https://console.example.com`,
	}, withName(createOperator), append(listeners(), "console-url")...)
	roleFlag(create)
	remove := p.managing(&cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove an operator and end their sessions immediately",
		Example: "  petcat operator remove ada",
	}, withName(removeOperator))
	yesFlag(remove)
	return parent(&cobra.Command{
		Use:   "operator",
		Short: "Manage operators of the console, and programs' tokens",
		Long: `Create, list and remove operators, the users of the console on the admin
listener of each server. An operator signs in with a link that works once,
within 15 minutes. An admin may see and change everything, a viewer may only see
it. Running servers apply changes immediately.`,
	},
		create,
		p.managing(&cobra.Command{
			Use:     "link NAME",
			Short:   "Print a new sign-in link for an operator",
			Example: "  petcat operator link ada",
			Long: `Print a new sign-in link for an operator. It replaces an unused link. Open
sessions stay open.`,
		}, withName(linkOperator), append(listeners(), "console-url")...),
		p.managing(&cobra.Command{
			Use:     "list",
			Short:   "List the operators and their number of open sessions",
			Example: "  petcat operator list",
		}, listOperators),
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

func createOperator(c *call, name petcat.OperatorName) error {
	role, err := c.role()
	if err != nil {
		return err
	}
	create := func(link petcat.TokenHash) (record, time.Time, error) {
		made, err := c.store.CreateOperator(c.ctx(), petcat.By(actor()), name, role, link)
		return representation.Operator(made.Value, c.now()), made.Value.LinkExpiresAt, err
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
		expires := made.Value.ExpiresAt
		return record{kv("name", string(name)), kv("link_expires_at", expires)}, expires, err
	}
	return c.showLink(name, create, func() error { return nil }) // the link cannot be used without its token
}

// showLink creates a sign-in link for an operator, and shows it.
func (c *call) showLink(
	name petcat.OperatorName,
	create func(petcat.TokenHash) (record, time.Time, error),
	undo func() error,
) error {
	base, err := c.consoleURL()
	if err != nil {
		return err
	}
	token, err := petcat.GenerateToken(c.random)
	if err != nil {
		return err
	}
	return c.showOnce(func() (secretive, error) {
		created, expires, err := create(token.Hash)
		link := console.SignInLink(base, token.Secret)
		return secretive{
			record:   append(created, kv("link", link)),
			sentence: fmt.Sprintf("This sign-in link of %s works once, until %s:", string(name), timestamp(expires)),
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

func listOperators(c *call) error {
	operators, err := c.store.Operators(c.ctx())
	if err != nil {
		return err
	}
	return c.list(records(c, operators), "name role sessions link_expires_at created_at",
		"There are no operators yet; create one with: petcat operator create NAME --role admin")
}

func removeOperator(c *call, name petcat.OperatorName) error {
	err := c.confirm(c.is("yes"), "Remove the operator %s of %s and end their sessions?",
		string(name), place(c.settings))
	if err != nil {
		return err
	}
	_, err = c.store.RemoveOperator(c.ctx(), petcat.By(actor()), name)
	removed := record{kv("name", string(name))}
	return c.done(err, removed, "The operator %s is removed, and their sessions have ended.", string(name))
}

package main

import (
	"time"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/console"
)

func (p *program) operatorCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "operator",
		Short:   "Create, list and remove operators, who may use the console",
		GroupID: groupManage,
		Long: `Create, list and remove operators. An operator may use the console: the web pages on the
admin listener of each server. Operators sign in with a link that works once, for 15
minutes. An admin may see and change everything, a viewer may only see it. Running
servers apply changes at once.`,
	},
		p.operatorCreateCommand(), p.operatorLinkCommand(), p.operatorListCommand(), p.operatorRemoveCommand(),
	)
}

func (p *program) operatorCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Create an operator, and print a link to sign in with",
		Long: `Create an operator, and print a link to sign in with. The link works once, for 15
minutes. It begins with --console-url, or else with the address in --admin-listen: set
them as for the server. Open it where you can reach that address: with the default, on
the machine itself, or through a tunnel such as ssh -L 8081:127.0.0.1:8081 HOST.`,
		Example: `  petcat operator create ada --role admin
  petcat operator create bob --role viewer --console-url https://console.example.com`,
	}
	role := cmd.Flags().String("role", "", "`role` of the operator: admin or viewer")
	complete(cmd, "role", string(petcat.RoleAdmin), string(petcat.RoleViewer))
	return p.linking(cmd, func(c *call) (giver, func() error, error) {
		if *role == "" {
			return nil, nil, usageErrorf("a role is required: --role admin or --role viewer")
		}
		asked, err := petcat.ParseNewOperator(c.args[0], *role)
		if err != nil {
			return nil, nil, usage(err)
		}
		give := func(link petcat.TokenHash) (petcat.Operator, error) {
			o, err := c.CreateOperator(c.ctx(), actor(), asked, link)
			return o, hinted(err, petcat.CodeInvalidField, "make another link with: petcat operator link "+c.args[0])
		}
		return give, func() error { return c.RemoveOperator(c.ctx(), actor(), asked.Name()) }, nil
	})
}

func (p *program) operatorLinkCommand() *cobra.Command {
	return p.linking(&cobra.Command{
		Use:   "link NAME",
		Short: "Print another link for an operator to sign in with",
		Long: `Print another link for an operator to sign in with. It replaces one that was not used
yet. Sessions that are open stay open.`,
	}, func(c *call) (giver, func() error, error) {
		name, err := petcat.ParseOperatorName(c.args[0])
		give := func(link petcat.TokenHash) (petcat.Operator, error) {
			o, err := c.LinkOperator(c.ctx(), actor(), name, link)
			return o, noSuchOperator(err)
		}
		undo := func() error { // a link that nobody can know takes its place
			unknown, err := petcat.GenerateToken(c.random)
			if err == nil {
				_, err = give(unknown.Hash)
			}
			return err
		}
		return give, undo, usage(err)
	})
}

// giver gives an operator a link, of which the data has the hash.
type giver func(petcat.TokenHash) (petcat.Operator, error)

// linking completes a command that prints a link to sign in with. prepare reads its arguments,
// and returns what undoes the change, too.
func (p *program) linking(cmd *cobra.Command, prepare func(*call) (give giver, undo func() error, err error)) *cobra.Command {
	return p.managing(cmd, func(c *call) error {
		give, undo, err := prepare(c)
		if err != nil {
			return err
		}
		settings, err := c.storeSettings(c.cmd)
		if err != nil {
			return err
		}
		base := settings.ConsoleURL
		if base == "" {
			if base, err = settings.AdminURL(); err != nil {
				return err
			}
		}
		if err := c.changeInSecret(); err != nil {
			return err
		}
		token, err := petcat.GenerateToken(c.random)
		if err != nil {
			return err
		}
		o, err := give(token.Hash)
		if err != nil {
			return unsure(err, exitFailed, "the link may have been made; make another one with: petcat operator link %s", c.args[0])
		}
		return undoUnless(c.showLink(o, console.SignInLink(base, token.Secret)), undo, "make another link with: petcat operator link "+string(o.Name))
		// The settings of the listeners are checked together.
	}, "listen", "admin-listen", "admin-allow-plaintext", "console-url", "tls-cert", "tls-key")
}

func (c *call) showLink(o petcat.Operator, link string) error {
	if c.asJSON {
		return c.show(append(operatorRecord(o), field{"link", link}))
	}
	if err := c.say("%s (%s) signs in once with this link, until %s:", string(o.Name), o.Role, timestamp(o.LinkEndsAt)); err != nil {
		return err
	}
	return c.sayParagraph("%s", link)
}

func noSuchOperator(err error) error {
	return notFound(err, "list the operators with: petcat operator list")
}

func operatorRecord(o petcat.Operator) record {
	return record{{"name", string(o.Name)}, {"role", o.Role}, {"created_at", o.CreatedAt}, {"sessions", o.Sessions}, {"link_ends_at", o.LinkEndsAt}}
}

func (p *program) operatorListCommand() *cobra.Command {
	return p.managing(&cobra.Command{Use: "list", Short: "List the operators, and how many sessions each has open"}, func(c *call) error {
		return listAll(c, store.EachOperator, func(o petcat.Operator) record {
			if !c.now().Before(o.LinkEndsAt) {
				o.LinkEndsAt = time.Time{}
			}
			return operatorRecord(o)
		}, "name role sessions link_ends_at created_at", "There are no operators yet; create one with: petcat operator create NAME --role admin")
	})
}

func (p *program) operatorRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "remove NAME", Short: "Remove an operator, and end their sessions at once"}
	yes := yesFlag(cmd)
	return p.managing(cmd, func(c *call) error {
		name, err := petcat.ParseOperatorName(c.args[0])
		if err != nil {
			return usage(err)
		}
		if err := c.change(); err != nil {
			return err
		}
		if err := c.confirm(*yes, "Remove the operator %s and end their sessions?", string(name)); err != nil {
			return err
		}
		return c.done(noSuchOperator(c.RemoveOperator(c.ctx(), actor(), name)), record{{"name", string(name)}}, "The operator %s is removed, and their sessions have ended.", string(name))
	})
}

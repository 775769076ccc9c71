package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/config"
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
		p.operatorCreateCommand(),
		p.operatorLinkCommand(),
		p.operatorListCommand(),
		p.operatorRemoveCommand(),
	)
}

// registerLinkFlags adds the flags that say where the data is and where browsers find the
// console. The settings of the listeners are checked together.
func registerLinkFlags(cmd *cobra.Command) {
	registerStoreFlags(cmd)
	registerFlags(cmd, "listen", "admin-listen", "admin-allow-plaintext", "console-url", "tls-cert", "tls-key")
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
		Args: arguments("NAME"),
	}
	registerLinkFlags(cmd)
	asJSON := jsonFlag(cmd)
	role := cmd.Flags().String("role", "", "`role` of the operator: admin or viewer")
	complete(cmd, "role", []string{string(petcat.RoleAdmin), string(petcat.RoleViewer)})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *role == "" {
			return usageErrorf("a role is required: --role admin or --role viewer")
		}
		asked, err := petcat.ParseNewOperator(args[0], *role)
		if err != nil {
			return usage(err)
		}
		return p.makeLink(cmd, *asJSON, func(ctx context.Context, st store, link petcat.TokenHash) (petcat.Operator, error) {
			o, err := st.CreateOperator(ctx, actor(), asked, link)
			if petcat.CodeOf(err) == petcat.CodeInvalidField {
				err = &failure{code: exitCode(err), text: explain(err) + "; make another link with: petcat operator link " + args[0], cause: err}
			}
			return o, err
		})
	}
	return cmd
}

func (p *program) operatorLinkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "link NAME",
		Short: "Print another link for an operator to sign in with",
		Long: `Print another link for an operator to sign in with. It replaces one that was not used
yet. Sessions that are open stay open.`,
		Args: arguments("NAME"),
	}
	registerLinkFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := petcat.ParseOperatorName(args[0])
		if err != nil {
			return usage(err)
		}
		return p.makeLink(cmd, *asJSON, func(ctx context.Context, st store, link petcat.TokenHash) (petcat.Operator, error) {
			o, err := st.LinkOperator(ctx, actor(), name, link)
			return o, noSuchOperator(err)
		})
	}
	return cmd
}

// makeLink generates a token, has give store its hash for an operator, and prints the link.
func (p *program) makeLink(cmd *cobra.Command, asJSON bool, give func(context.Context, store, petcat.TokenHash) (petcat.Operator, error)) error {
	settings, err := p.storeSettings(cmd)
	if err != nil {
		return err
	}
	base, err := consoleURL(settings)
	if err != nil {
		return err
	}
	return p.changeStore(cmd, func(ctx context.Context, st store) error {
		token, err := petcat.GenerateToken(p.random)
		if err != nil {
			return err
		}
		o, err := give(ctx, st, token.Hash)
		if err != nil {
			return unsure(err, exitFailed, "the link may have been made; make another one with: petcat operator link NAME")
		}
		link := console.SignInLink(base, token.Secret)
		if asJSON {
			return p.printJSON(struct {
				operatorJSON
				Link string `json:"link"`
			}{operatorDocument(o), link})
		}
		if err := p.say("%s (%s) signs in once with this link, until %s:", string(o.Name), o.Role, timestamp(o.LinkEndsAt)); err != nil {
			return err
		}
		return p.sayParagraph("%s", link)
	})
}

func noSuchOperator(err error) error {
	return notFound(err, "list the operators with: petcat operator list")
}

// consoleURL returns where browsers find the console.
func consoleURL(settings config.Settings) (string, error) {
	if settings.ConsoleURL != "" {
		return settings.ConsoleURL, nil
	}
	return settings.AdminURL()
}

// operatorJSON is an operator as --json prints it.
type operatorJSON struct {
	Name       string      `json:"name"`
	Role       petcat.Role `json:"role"`
	CreatedAt  string      `json:"created_at"`
	Sessions   int64       `json:"sessions"`
	LinkEndsAt *string     `json:"link_ends_at"`
}

func operatorDocument(o petcat.Operator) operatorJSON {
	return operatorJSON{
		Name: string(o.Name), Role: o.Role, CreatedAt: timestamp(o.CreatedAt), Sessions: o.Sessions,
		LinkEndsAt: nullableTime(o.LinkEndsAt),
	}
}

func (p *program) operatorListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the operators, and how many sessions each has open",
		Args:  arguments(),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			l, now := list{header: []string{"NAME", "ROLE", "SESSIONS", "LINK UNTIL", "CREATED"}}, p.now()
			err := st.EachOperator(ctx, func(o petcat.Operator) error {
				if !now.Before(o.LinkEndsAt) {
					o.LinkEndsAt = time.Time{}
				}
				l.add(operatorDocument(o), string(o.Name), string(o.Role), strconv.FormatInt(o.Sessions, 10),
					timestampOr(o.LinkEndsAt, "-"), timestamp(o.CreatedAt))
				return nil
			})
			if err != nil {
				return err
			}
			return p.printList(l, *asJSON, "There are no operators yet; create one with: petcat operator create NAME --role admin")
		})
	}
	return cmd
}

func (p *program) operatorRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an operator, and end their sessions at once",
		Args:  arguments("NAME"),
	}
	registerStoreFlags(cmd)
	asJSON, yes := jsonFlag(cmd), yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := petcat.ParseOperatorName(args[0])
		if err != nil {
			return usage(err)
		}
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			if err := p.confirm(*yes, fmt.Sprintf("Remove the operator %s and end their sessions?", string(name))); err != nil {
				return err
			}
			if err := st.RemoveOperator(ctx, actor(), name); err != nil {
				return unsure(noSuchOperator(err), exitTryLater, "the operator may have been removed; check with: petcat operator list, or run the command again")
			}
			if *asJSON {
				return p.printJSON(struct {
					Name string `json:"name"`
				}{string(name)})
			}
			return p.say("The operator %s is removed, and their sessions have ended.", string(name))
		})
	}
	return cmd
}

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/portal"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) accountCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "account",
		Short: "Create, list, change, purge and close accounts",
		Long: `Create, list, change, purge and close accounts, the consumers of the API. Each
account has a plan, and its keys share its quotas. ACCOUNT is an account's name
or id (acct_12).`,
	},
		p.createAccountCommand(),
		p.listAccountsCommand(),
		p.managing(&cobra.Command{
			Use:     "show ACCOUNT",
			Short:   "Show an account and its keys",
			Example: "  petcat account show acme",
		}, withAccount(showAccount)),
		p.managing(&cobra.Command{
			Use:     "rename ACCOUNT NAME",
			Short:   "Rename an account",
			Example: "  petcat account rename acme \"Acme Corp\"",
		}, withAccount(renameAccount)),
		p.managing(&cobra.Command{
			Use:   "set-external-id ACCOUNT ID",
			Short: "Change the external id of an account",
			Long: `Change the external id of an account, your own customer number: at most 100
visible ASCII characters, unique among open accounts. An empty ID removes it.`,
			Example: `  petcat account set-external-id acme C-1042`,
		}, withAccount(setExternalID)),
		p.setPlanCommand(),
		p.closeAccountCommand(),
		p.purgeAccountCommand(),
		p.managing(&cobra.Command{
			Use:     "link ACCOUNT",
			Short:   "Print a link to the customer's page of an account",
			Example: "  petcat account link acme --public-url https://api.example.com",
			Long: `Print a link to the customer's page of an account, which servers with
--customer-pages serve. The link works once, within 15 minutes. It starts with
--public-url, or with the API address of a running server.`,
		}, withAccount(linkAccount), append(listeners(), "public-url")...),
		p.managing(&cobra.Command{
			Use:     "sign-out ACCOUNT",
			Short:   "End all sessions of the customer's page of an account",
			Example: "  petcat account sign-out acme",
			Long: `End all sessions and unused links of the customer's page of an account, for
example because a session may have been stolen. Keys stay valid: see petcat key
revoke.`,
		}, withAccount(signOutAccount)),
		p.managing(&cobra.Command{
			Use:     "rejections ACCOUNT",
			Short:   "Show recent rejected and failed requests of an account",
			Example: "  petcat account rejections acme",
			Long: `Show the requests of an account that were rejected or failed in the last 30
days: the newest 20 lines, one per key, operation and code. The request id, the
used quotas and the end of the rejection are those of the last request. Requests
appear within two seconds.`,
		}, withAccount(listRejections)),
	)
}

func (p *program) createAccountCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:   "create NAME --plan PLAN",
		Short: "Create an account",
		Example: `  petcat account create acme --plan free
  petcat account create shop --plan pro --external-id C-1042
  petcat account create "Big Corp" --plan enterprise --per-minute 5000 --per-day 2000000`,
	}, createAccount)
	planFlags(cmd)
	cmd.Flags().String("external-id", "", "set your own customer `number`, unique among open accounts")
	return cmd
}

func (p *program) listAccountsCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:     "list",
		Short:   "List the accounts, including closed ones",
		Example: "  petcat account list --json",
	}, listAccounts)
	cmd.Flags().String("name", "", "list only accounts whose name contains this `text`, ignoring case")
	cmd.Flags().String("plan", "", "list only accounts on this `plan`")
	cmd.Flags().String("external-id", "", "list only accounts with this external `id`")
	complete(cmd, "plan", planNames()...)
	return cmd
}

func (p *program) closeAccountCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:     "close ACCOUNT",
		Short:   "Close an account and permanently revoke its keys",
		Example: "  petcat account close acme",
	}, withAccount(closeAccount))
	cmd.Flags().Bool("purge", false, "also delete its categories, pets and orders, as petcat account purge does")
	yesFlag(cmd)
	return cmd
}

func (p *program) purgeAccountCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:     "purge ACCOUNT",
		Short:   "Delete all categories, pets and orders of an account",
		Example: "  petcat account purge acme",
		Long: `Delete all categories, pets and orders that an account, which may be closed, has
created until now. The deletion runs in small steps, so servers hardly wait. If
it is interrupted, run the command again. An open account can create more: first
close it, or disable its keys.`,
	}, withAccount(purgeAccount))
	yesFlag(cmd)
	return cmd
}

func (p *program) setPlanCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:   "set-plan ACCOUNT [PLAN]",
		Short: "Change the plan of an account",
		Long: `Change the plan of an account. Servers apply it within a second. Requests that
were already counted stay counted. PLAN can also be given as --plan.`,
		Example: `  petcat account set-plan acme pro
  petcat account set-plan acme enterprise --per-minute 5000 --per-day 2000000`,
	}, withAccount(setPlan))
	planFlags(cmd)
	return cmd
}

// accountTitle returns the name and id of an account for messages.
func accountTitle(a petcat.Account) string { return fmt.Sprintf("%s (%s)", a.Name, a.ID) }

// account returns the account with a name or id.
func (c *call) account(ref string) (petcat.Account, error) {
	a, err := c.store.FindAccount(c.ctx(), ref)
	return a, notFound(err, "account")
}

// withAccount passes the account that the first argument names to run.
func withAccount(run func(*call, petcat.Account) error) func(*call) error {
	return func(c *call) error {
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		return run(c, a)
	}
}

func createAccount(c *call) error {
	subscription, err := c.subscription(c.text("plan"))
	if err != nil {
		return err
	}
	name, err := petcat.ParseAccountName(c.args[0])
	if err != nil {
		return usage(err)
	}
	external, err := petcat.ParseExternalID(c.text("external-id"))
	if err != nil {
		return usage(err)
	}
	made, err := c.store.CreateAccount(c.ctx(), petcat.By(actor()), petcat.NewAccount{
		Name:         name,
		Subscription: subscription,
		ExternalID:   external,
	})
	a := made.Value
	return c.printPlan(err, a, "Create its API key with: petcat key create "+a.ID.String())
}

func listAccounts(c *call) error {
	accounts, err := collect(func(fn func(petcat.Account) error) error { return c.store.EachAccount(c.ctx(), fn) })
	if err != nil {
		return err
	}
	external := petcat.ExternalID(c.text("external-id"))
	name, plan := strings.ToLower(c.text("name")), strings.ToLower(c.text("plan"))
	accounts = slices.DeleteFunc(accounts, func(a petcat.Account) bool {
		return !strings.Contains(strings.ToLower(a.Name), name) || plan != "" && string(a.Plan) != plan ||
			external != "" && a.ExternalID != external
	})
	return c.list(records(c, accounts), "id name external_id plan per_minute per_day state created_at",
		"No accounts; create one with: petcat account create NAME --plan free")
}

func showAccount(c *call, a petcat.Account) error {
	keys, err := c.keysOf(a.ID)
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(append(representation.Account(a), kv("keys", keys)))
	}
	return cmp.Or(c.show(representation.Account(a)), c.say(""), c.listKeys(keys, a.ID.String()))
}

func renameAccount(c *call, a petcat.Account) error {
	name, err := petcat.ParseAccountName(c.args[1])
	if err != nil {
		return usage(err)
	}
	edited, err := c.store.EditAccount(c.ctx(), petcat.By(actor()), a.ID, petcat.EditName(name))
	renamed := edited.Value
	return c.done(err, representation.Account(renamed), "%s is renamed to %s.", accountTitle(a), renamed.Name)
}

func setExternalID(c *call, a petcat.Account) error {
	external, err := petcat.ParseExternalID(c.args[1])
	if err != nil {
		return usage(err)
	}
	edit := petcat.AccountEdit{ExternalID: &external}
	edited, err := c.store.EditAccount(c.ctx(), petcat.By(actor()), a.ID, edit)
	return c.done(err, representation.Account(edited.Value),
		"%s has the external id %q.", accountTitle(a), edited.Value.ExternalID)
}

func setPlan(c *call, a petcat.Account) error {
	plan := c.text("plan")
	if len(c.args) == 2 {
		if plan != "" {
			return usageErrorf("the plan was given twice; leave out %q or --plan", c.args[1])
		}
		plan = c.args[1]
	}
	subscription, err := c.subscription(plan)
	if err != nil {
		return err
	}
	edit := petcat.EditPlan(subscription)
	// Storage that is not given stays as it was agreed.
	if c.number("max-categories") == 0 {
		edit.Plan.MaxCategories = nil
	}
	if c.number("max-bytes") == 0 {
		edit.Plan.MaxBytes = nil
	}
	edited, err := c.store.EditAccount(c.ctx(), petcat.By(actor()), a.ID, edit)
	return c.printPlan(err, edited.Value, "Requests that were already counted stay counted.")
}

// printPlan prints an account's plan, and the sentence more.
func (c *call) printPlan(err error, a petcat.Account, more string) error {
	if a.Quota.PerDay < a.Quota.PerMinute {
		c.warn("the quota per day is below the quota per minute, which will never be reached")
	}
	return c.done(err, representation.Account(a),
		"%s is on the %s plan: %d requests per minute, %d per day. %s",
		accountTitle(a), a.Plan, a.Quota.PerMinute, a.Quota.PerDay, more)
}

func closeAccount(c *call, a petcat.Account) error {
	more := ""
	if c.is("purge") {
		more = " Also delete all of its categories, pets and orders?"
	}
	err := c.confirm(c.is("yes"), "Permanently close %s in %s and revoke its keys?%s",
		accountTitle(a), place(c.settings), more)
	if err != nil {
		return err
	}
	closed, err := c.store.CloseAccount(c.ctx(), petcat.By(actor()), a.ID)
	if err != nil {
		return err
	}
	done := representation.Account(closed.Value)
	if !c.is("purge") {
		return c.print(done,
			"%s is closed, and its keys are revoked. Its data stays; to delete it, run: petcat account purge %s",
			accountTitle(a), a.ID)
	}
	purged, err := c.store.PurgeAccount(c.ctx(), petcat.By(actor()), a.ID)
	done = append(done, kv("purged", representation.Purge(purged.Value)))
	return c.done(err, done, "%s is closed, and its keys are revoked. %s", accountTitle(a), purgedText(purged.Value))
}

// purgedText describes a purge.
func purgedText(p petcat.Purge) string {
	return fmt.Sprintf("Deleted: %d categories, %d pets, %d orders.", p.Categories, p.Pets, p.Orders)
}

func purgeAccount(c *call, a petcat.Account) error {
	err := c.confirm(c.is("yes"), "Permanently delete all categories, pets and orders of %s in %s?",
		accountTitle(a), place(c.settings))
	if err != nil {
		return err
	}
	purged, err := c.store.PurgeAccount(c.ctx(), petcat.By(actor()), a.ID)
	return c.done(err, representation.Purge(purged.Value), "%s is purged. %s", accountTitle(a), purgedText(purged.Value))
}

func linkAccount(c *call, a petcat.Account) error {
	base := c.urlOf(c.settings.PublicURL, "--listen", func(n petcat.Node) string { return n.PublicURL })
	token, err := petcat.GenerateToken(c.random)
	if err != nil {
		return err
	}
	link := portal.Link(cmp.Or(base, config.LocalURL(c.settings.Listen, c.settings.TLS())), token.Secret)
	return c.showOnce(func() (secretive, error) {
		made, err := c.store.CreateLink(c.ctx(), petcat.By(actor()), petcat.Subject{Account: a.ID}, token.Hash)
		expires := made.Value.ExpiresAt
		return secretive{
			record: record{
				kv("account", a.ID),
				kv("url", link),
				kv("expires_at", expires),
			},
			sentence: fmt.Sprintf("This link to the page of %s works once, until %s:", accountTitle(a), timestamp(expires)),
			secret:   link,
			undo:     func() error { return nil }, // the link cannot be used without its token
		}, err
	})
}

func signOutAccount(c *call, a petcat.Account) error {
	ended, err := c.store.SignOutEverywhere(c.ctx(), petcat.By(actor()), petcat.Subject{Account: a.ID})
	return c.done(err, record{kv("ended_sessions", ended.Value)},
		"Ended sessions of %s: %d. Its unused links also expired.", accountTitle(a), ended.Value)
}

func listRejections(c *call, a petcat.Account) error {
	rejections, err := c.store.Rejections(c.ctx(), a.ID)
	if err != nil {
		return err
	}
	return c.list(records(c, rejections),
		"last_at count first_at key operation status code minute_quota daily_quota until request_id",
		fmt.Sprintf("No recent request of %s was rejected or failed.", accountTitle(a)))
}

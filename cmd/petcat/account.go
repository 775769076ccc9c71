package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"petcat"
)

func (p *program) accountCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "account",
		Short:   "Create, list, change and close accounts",
		GroupID: groupManage,
		Long: `Create, list, change and close accounts: the consumers of the API. An account is
on a plan, and its keys share its quotas. ACCOUNT is an account's name or its id (acct_12).`,
	},
		p.accountCreateCommand(),
		p.accountListCommand(),
		p.accountShowCommand(),
		p.accountRefusalsCommand(),
		p.accountSetPlanCommand(),
		p.accountCloseCommand(),
	)
}

func (p *program) accountCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME --plan PLAN",
		Short: "Create an account",
		Long: `Create an account. With --environment, the account is created only if the data
belongs to that environment.`,
		Example: `  petcat account create acme --plan free
  petcat account create "Big Corp" --plan enterprise --per-minute 5000 --per-day 2000000`,
		Args: arguments("NAME"),
	}
	registerStoreFlags(cmd)
	registerFlags(cmd, "environment")
	plan, asJSON := registerPlanFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		subscription, err := plan.subscription(cmd)
		if err != nil {
			return err
		}
		asked, err := petcat.ParseNewAccount(args[0], subscription)
		if err != nil {
			return usage(err)
		}
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			a, err := st.CreateAccount(ctx, actor(), asked)
			if err != nil {
				return unsure(err, exitFailed, "the account may have been created; check with: petcat account list")
			}
			if *asJSON {
				return p.printJSON(accountDocument(a))
			}
			if err := p.printAccount(a); err != nil {
				return err
			}
			return p.sayParagraph("Create its API key with: petcat key create %s", a.ID)
		})
	}
	return cmd
}

func (p *program) accountListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all accounts, closed ones included",
		Args:  arguments(),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			l := list{header: []string{"ID", "NAME", "PLAN", "PER MINUTE", "PER DAY", "STATE", "CREATED"}}
			err := st.EachAccount(ctx, func(a petcat.Account) error {
				l.add(accountDocument(a), a.ID.String(), a.Name, string(a.Plan), strconv.FormatInt(a.Quota.PerMinute, 10),
					strconv.FormatInt(a.Quota.PerDay, 10), accountState(a), timestamp(a.CreatedAt))
				return nil
			})
			if err != nil {
				return err
			}
			return p.printList(l, *asJSON, "There are no accounts yet; create one with: petcat account create NAME --plan free")
		})
	}
	return cmd
}

func (p *program) accountShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ACCOUNT",
		Short: "Show an account and its keys",
		Args:  arguments("ACCOUNT"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			a, err := findAccount(ctx, st, args[0])
			if err != nil {
				return err
			}
			keys, err := keysOf(ctx, st, a.ID)
			if err != nil {
				return err
			}
			uses, err := usesOf(ctx, st, keys)
			if err != nil {
				return err
			}
			if *asJSON {
				return p.printJSON(struct {
					accountJSON
					Keys []usedKeyJSON `json:"keys"`
				}{accountDocument(a), p.keyDocuments(keys, uses)})
			}
			if err := p.printAccount(a); err != nil {
				return err
			}
			if err := p.say(""); err != nil {
				return err
			}
			return p.printKeys(keys, map[petcat.AccountID]string{a.ID: a.Name}, uses)
		})
	}
	return cmd
}

func (p *program) accountSetPlanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set-plan ACCOUNT PLAN",
		Short: "Change the plan of an account",
		Long: `Change the plan of an account. Running servers apply the change within a second.
Requests that were already counted stay counted. The plan can also be given as
--plan.`,
		Example: `  petcat account set-plan acme pro
  petcat account set-plan acme enterprise --per-minute 5000 --per-day 2000000`,
		Args: arguments("ACCOUNT", "[PLAN]"),
	}
	registerStoreFlags(cmd)
	plan, asJSON := registerPlanFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			if plan.plan != "" {
				return usageErrorf("the plan was given twice; leave out %q or --plan", args[1])
			}
			plan.plan = args[1]
		}
		subscription, err := plan.subscription(cmd)
		if err != nil {
			return err
		}
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			a, err := findAccount(ctx, st, args[0])
			if err != nil {
				return err
			}
			id := a.ID
			if a, err = st.ChangeSubscription(ctx, actor(), id, subscription); err != nil {
				return unsure(err, exitTryLater, "the plan may have been changed; check with: petcat account show %s, or run the command again", id)
			}
			if *asJSON {
				return p.printJSON(accountDocument(a))
			}
			return p.say("%s is on the %s plan: %d requests per minute, %d per day.",
				accountTitle(a), a.Plan, a.Quota.PerMinute, a.Quota.PerDay)
		})
	}
	return cmd
}

func (p *program) accountCloseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "close ACCOUNT",
		Short: "Close an account and permanently revoke its keys",
		Args:  arguments("ACCOUNT"),
	}
	registerStoreFlags(cmd)
	asJSON, yes := jsonFlag(cmd), yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			a, err := findAccount(ctx, st, args[0])
			if err != nil {
				return err
			}
			if err := p.confirm(*yes, fmt.Sprintf("Permanently close %s and revoke its keys?", accountTitle(a))); err != nil {
				return err
			}
			id := a.ID
			if a, err = st.CloseAccount(ctx, actor(), id); err != nil {
				return unsure(err, exitTryLater, "the account may have been closed; check with: petcat account show %s, or run the command again", id)
			}
			if *asJSON {
				return p.printJSON(accountDocument(a))
			}
			return p.say("%s is closed, and its keys are revoked.", accountTitle(a))
		})
	}
	return cmd
}

// findAccount returns the account with the name or id that the user typed.
func findAccount(ctx context.Context, st store, ref string) (petcat.Account, error) {
	a, err := st.FindAccount(ctx, ref)
	return a, notFound(err, "list the accounts with: petcat account list")
}

// yesFlag adds --yes to a command that cannot be undone.
func yesFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().BoolP("yes", "y", false, "do not ask; required without a terminal")
}

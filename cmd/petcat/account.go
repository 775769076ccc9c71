package main

import (
	"errors"
	"fmt"
	"strings"

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
		p.accountCreateCommand(), p.accountListCommand(), p.accountShowCommand(), p.accountRefusalsCommand(),
		p.accountSetPlanCommand(), p.accountCloseCommand(),
	)
}

func accountRecord(a petcat.Account) record {
	state := "open"
	if a.Closed() {
		state = "closed"
	}
	return record{
		{"id", a.ID},
		{"name", a.Name},
		{"state", state},
		{"plan", a.Plan},
		{"per_minute", a.Quota.PerMinute},
		{"per_day", a.Quota.PerDay},
		{"created_at", a.CreatedAt},
		{"closed_at", a.ClosedAt},
	}
}

// accountTitle returns the name and id of an account, as messages show it.
func accountTitle(a petcat.Account) string { return fmt.Sprintf("%s (%s)", a.Name, a.ID) }

// account returns the account with the name or id that the user typed.
func (c *call) account(ref string) (petcat.Account, error) {
	a, err := c.FindAccount(c.ctx(), ref)
	return a, notFound(err, "list the accounts with: petcat account list")
}

func (p *program) accountCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME --plan PLAN",
		Short: "Create an account",
		Long: `Create an account. With --environment, the account is created only if the data
belongs to that environment.`,
		Example: `  petcat account create acme --plan free
  petcat account create "Big Corp" --plan enterprise --per-minute 5000 --per-day 2000000`,
	}
	plan := registerPlanFlags(cmd)
	return p.managing(cmd, func(c *call) error {
		subscription, err := plan.subscription(c.cmd)
		if err != nil {
			return err
		}
		asked, err := petcat.ParseNewAccount(c.args[0], subscription)
		if err != nil {
			return usage(err)
		}
		if err := c.change(); err != nil {
			return err
		}
		a, err := c.CreateAccount(c.ctx(), actor(), asked)
		if err != nil {
			return unsure(err, exitFailed, "the account may have been created; check with: petcat account list")
		}
		return c.showAnd(accountRecord(a), "Create its API key with: petcat key create %s", a.ID)
	}, "environment")
}

func (p *program) accountListCommand() *cobra.Command {
	return p.managing(&cobra.Command{Use: "list", Short: "List all accounts, closed ones included"}, func(c *call) error {
		return listAll(c, store.EachAccount, accountRecord, "id name plan per_minute per_day state created_at",
			"There are no accounts yet; create one with: petcat account create NAME --plan free")
	})
}

func (p *program) accountShowCommand() *cobra.Command {
	return p.reading(&cobra.Command{Use: "show ACCOUNT", Short: "Show an account and its keys"}, func(c *call) error {
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		keys, err := c.keys(a.ID)
		if err != nil {
			return err
		}
		shown := accountRecord(a)
		if c.asJSON {
			shown = append(shown, field{"keys", keys})
		}
		if err := c.show(shown); err != nil || c.asJSON {
			return err
		}
		return errors.Join(c.say(""), c.listKeys(keys))
	})
}

func (p *program) accountSetPlanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set-plan ACCOUNT [PLAN]",
		Short: "Change the plan of an account",
		Long: `Change the plan of an account. Running servers apply the change within a second.
Requests that were already counted stay counted. The plan can also be given as
--plan.`,
		Example: `  petcat account set-plan acme pro
  petcat account set-plan acme enterprise --per-minute 5000 --per-day 2000000`,
	}
	plan := registerPlanFlags(cmd)
	return p.managing(cmd, func(c *call) error {
		if len(c.args) == 2 {
			if plan.plan != "" {
				return usageErrorf("the plan was given twice; leave out %q or --plan", c.args[1])
			}
			plan.plan = c.args[1]
		}
		subscription, err := plan.subscription(c.cmd)
		if err != nil {
			return err
		}
		if err := c.change(); err != nil {
			return err
		}
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		a, err = c.ChangeSubscription(c.ctx(), actor(), a.ID, subscription)
		return c.done(err, accountRecord(a), "%s is on the %s plan: %d requests per minute, %d per day.", accountTitle(a), a.Plan, a.Quota.PerMinute, a.Quota.PerDay)
	})
}

func (p *program) accountCloseCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "close ACCOUNT", Short: "Close an account and permanently revoke its keys"}
	yes := yesFlag(cmd)
	return p.changing(cmd, func(c *call) error {
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		if err := c.confirm(*yes, "Permanently close %s and revoke its keys?", accountTitle(a)); err != nil {
			return err
		}
		a, err = c.CloseAccount(c.ctx(), actor(), a.ID)
		return c.done(err, accountRecord(a), "%s is closed, and its keys are revoked.", accountTitle(a))
	})
}

func (p *program) accountRefusalsCommand() *cobra.Command {
	return p.reading(&cobra.Command{
		Use:   "refusals ACCOUNT",
		Short: "Show the requests of an account that were refused or failed lately",
		Long: `Show the requests of an account that got 429 or a status of 500 or more, from all
servers: one line for each key, operation and code, with how many there were and when,
and of the last one the X-Request-Id, how much of each quota was used, and until when.
The newest 20 lines are shown, the newest first. Requests appear within two seconds, and
a line is kept for 30 days after its last request.`,
		Example: `  petcat account refusals acme
  petcat account refusals acct_12 --json`,
	}, func(c *call) error {
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		refusals, err := c.Refusals(c.ctx(), a.ID)
		if err != nil {
			return err
		}
		var records []record
		for _, r := range refusals {
			operation := shown{r.Operation, string(r.Operation)}
			if r.Operation == "" { // no operation has this path and method
				operation.text = "-"
			}
			records = append(records, record{
				{"key", r.Key},
				{"operation", operation},
				{"status", r.Status},
				{"code", r.Code},
				{"count", r.Count},
				{"first_at", shown{milliseconds(r.First), timestamp(r.First)}},
				{"last_at", shown{milliseconds(r.Last), timestamp(r.Last)}},
				{"request_id", r.RequestID},
				{"minute", spent(r.Minute)},
				{"day", spent(r.Day)},
				{"until", r.Until},
			})
		}
		return c.list(records, "last_at count first_at key operation status code minute day until request_id",
			fmt.Sprintf("No request of %s was refused or failed lately.", accountTitle(a)))
	})
}

// spent returns how much of a quota was used, nil if that is unknown.
func spent(s petcat.Spent) any {
	if s.Limit == 0 {
		return nil
	}
	return shown{record{{"used", s.Used}, {"limit", s.Limit}}, fmt.Sprintf("%d of %d", s.Used, s.Limit)}
}

func (p *program) planCommand() *cobra.Command {
	list := p.printing(&cobra.Command{Use: "list", Short: "List the plans"}, func(c *call) error {
		var plans []record
		for _, plan := range petcat.Plans() {
			r := record{{"plan", plan}, {"per_minute", shown{nil, "custom"}}, {"per_day", shown{nil, "custom"}}}
			if q, ok := plan.Quota(); ok {
				r[1].value, r[2].value = q.PerMinute, q.PerDay
			}
			plans = append(plans, r)
		}
		return c.list(plans, "plan per_minute per_day", "")
	})
	return parent(&cobra.Command{Use: "plan", Short: "Show the plans and their quotas", GroupID: groupManage}, list)
}

// planFlags are the flags that say what an account subscribes to.
type planFlags struct {
	plan              string
	perMinute, perDay int64
}

func registerPlanFlags(cmd *cobra.Command) *planFlags {
	f := &planFlags{}
	var names []string
	for _, plan := range petcat.Plans() {
		names = append(names, string(plan))
	}
	cmd.Flags().StringVar(&f.plan, "plan", "", "`plan`: free, pro, business or enterprise")
	cmd.Flags().Int64Var(&f.perMinute, "per-minute", 0, "requests per minute, only for the enterprise plan")
	cmd.Flags().Int64Var(&f.perDay, "per-day", 0, "requests per day, only for the enterprise plan")
	complete(cmd, "plan", names...)
	return f
}

// subscription returns the subscription that the flags of cmd describe. Its errors name the
// flags, which the errors of the domain cannot.
func (f *planFlags) subscription(cmd *cobra.Command) (petcat.Subscription, error) {
	for name, n := range map[string]int64{"per-minute": f.perMinute, "per-day": f.perDay} {
		// To the domain, 0 means that the number was not given.
		if n == 0 && cmd.Flags().Changed(name) {
			return petcat.Subscription{}, usageErrorf("--%s must be at least 1", name)
		}
	}
	plan := petcat.Plan(strings.ToLower(f.plan))
	_, published := plan.Quota()
	s, err := petcat.ParseSubscription(f.plan, f.perMinute, f.perDay)
	switch {
	case err != nil && published:
		return s, usageErrorf("the %s plan has published quotas; leave out --per-minute and --per-day, or choose the enterprise plan", plan)
	case plan == petcat.Enterprise && petcat.CodeOf(err) == petcat.CodeMissingField:
		return s, usageErrorf("the enterprise plan needs both --per-minute and --per-day")
	default:
		return s, usage(err)
	}
}

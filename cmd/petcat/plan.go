package main

import (
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
)

func (p *program) planCommand() *cobra.Command {
	list := p.printing(&cobra.Command{
		Use:     "list",
		Short:   "List the plans",
		Example: "  petcat plan list",
	}, func(c *call) error {
		return c.list(records(c, petcat.Plans()), "plan per_minute per_day max_categories max_bytes", "")
	})
	return parent(&cobra.Command{
		Use:   "plan",
		Short: "Show the plans and their limits",
	}, list)
}

func planNames() (names []string) {
	for _, plan := range petcat.Plans() {
		names = append(names, string(plan))
	}
	return names
}

// planFlags adds the flags for the plan and quotas of an account.
func planFlags(cmd *cobra.Command) {
	cmd.Flags().String("plan", "", "put the account on this `plan`: free, pro, business or enterprise")
	quotaFlags(cmd)
	numberFlag(cmd, "max-categories", 0, "let the account store this `number` of categories; only for the enterprise plan")
	numberFlag(cmd, "max-bytes", 0, "let its categories take this `number` of bytes; only for the enterprise plan")
	complete(cmd, "plan", planNames()...)
}

// quotaFlags adds the flags for the quotas of the Enterprise plan.
func quotaFlags(cmd *cobra.Command) {
	numberFlag(cmd, "per-minute", 0, "allow this number of requests per minute; only for the enterprise plan")
	numberFlag(cmd, "per-day", 0, "allow this number of requests per day; only for the enterprise plan")
}

// subscription returns a plan with the quotas in the flags.
func (c *call) subscription(plan string) (petcat.Subscription, error) {
	quota := petcat.Quota{
		PerMinute: c.number("per-minute"),
		PerDay:    c.number("per-day"),
	}
	storage := petcat.Storage{
		Categories: c.number("max-categories"),
		Bytes:      c.number("max-bytes"),
	}
	s, err := petcat.ParseSubscription(plan, quota, storage)
	return s, usage(err)
}

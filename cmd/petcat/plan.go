package main

import (
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
)

func (p *program) planCommand() *cobra.Command {
	list := p.printing(&cobra.Command{
		Use:   "list",
		Short: "List the plans",
	}, func(c *call) error {
		return c.list(records(c, petcat.Plans()), "plan per_minute per_day", "")
	})
	return parent(&cobra.Command{
		Use:   "plan",
		Short: "Show the plans and their quotas",
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
	numberFlag(cmd, "per-minute", 0, "allow this number of requests per minute; only for the enterprise plan")
	numberFlag(cmd, "per-day", 0, "allow this number of requests per day; only for the enterprise plan")
	complete(cmd, "plan", planNames()...)
}

// subscription returns a plan with the quotas in the flags.
func (c *call) subscription(plan string) (petcat.Subscription, error) {
	s, err := petcat.ParseSubscription(plan, c.number("per-minute"), c.number("per-day"))
	return s, usage(err)
}

package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"petcat"
)

func (p *program) planCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "plan",
		Short:   "Show the plans and their quotas",
		GroupID: groupManage,
	}, p.planListCommand())
}

// planJSON is a plan as --json prints it. Its quotas are null if they are agreed with each
// account.
type planJSON struct {
	Plan      petcat.Plan `json:"plan"`
	PerMinute *int64      `json:"per_minute"`
	PerDay    *int64      `json:"per_day"`
}

func (p *program) planListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plans",
		Args:  arguments(),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		l := list{header: []string{"PLAN", "PER MINUTE", "PER DAY"}}
		for _, plan := range petcat.Plans() {
			document, row := planJSON{Plan: plan}, []string{string(plan), "custom", "custom"}
			if q, ok := plan.Quota(); ok {
				document.PerMinute, document.PerDay = &q.PerMinute, &q.PerDay
				row = []string{string(plan), strconv.FormatInt(q.PerMinute, 10), strconv.FormatInt(q.PerDay, 10)}
			}
			l.add(document, row...)
		}
		return p.printList(l, *asJSON, "")
	}
	return cmd
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
	complete(cmd, "plan", names)
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

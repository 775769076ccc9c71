package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petcat"
)

func (p *program) usageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "usage [ACCOUNT]",
		Short:   "Show how many requests an account made, and how many were refused",
		GroupID: groupManage,
		Long: `Show the usage history of an account, or without ACCOUNT of all accounts together: the
admitted requests, the refused ones by reason, failures, and the bytes of the
response bodies. ACCOUNT is an account's name or its id (acct_12).

Days are kept for two years, hours for 30 days. An earlier --from is refused. All times
are in UTC. Requests appear within two seconds. Periods without any request are not shown.

A server that was killed may have lost the requests of its last second. The periods
in which that may have happened are marked as incomplete.`,
		Example: `  petcat usage acme
  petcat usage acme --by hour --from 2026-11-21 --to 2026-11-22
  petcat usage acme --from 2026-11-01 --to 2026-12-01 --csv`,
		Args: arguments("[ACCOUNT]"),
	}
	registerStoreFlags(cmd)
	by := cmd.Flags().String("by", "day", "the `period` of each line: day or hour")
	from := cmd.Flags().String("from", "", "only periods that begin at this `time` or later: a time ago (7d), a day (2026-11-21, from its beginning in UTC), or an instant (RFC 3339); 30 days or one day ago by default")
	to := cmd.Flags().String("to", "", "only periods that begin before this `time`; now by default")
	asCSV := cmd.Flags().Bool("csv", false, "print CSV and nothing else")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *asCSV && *asJSON {
			return usageErrorf("choose --csv or --json, not both")
		}
		q, err := usageQuery(*by, *from, *to, p.now())
		if err != nil {
			return err
		}
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			r := usageReport{query: q, title: "all accounts"}
			if len(args) == 1 {
				a, err := findAccount(ctx, st, args[0])
				if err != nil {
					return err
				}
				r.query.Account, r.title = a.ID, accountTitle(a)
			}
			if r.history, err = st.Usage(ctx, r.query); err != nil {
				return err
			}
			switch {
			case *asJSON:
				return p.printJSON(r.document())
			case *asCSV:
				return p.printUsageCSV(r)
			default:
				return p.printUsage(r)
			}
		})
	}
	return cmd
}

// usageQuery returns the part of the history that the flags ask for at now.
func usageQuery(by, from, to string, now time.Time) (q petcat.UsageQuery, err error) {
	var ago time.Duration // by default
	switch by {
	case petcat.UsageByDay.String():
		q.Step, ago = petcat.UsageByDay, petcat.UsageHours
	case petcat.UsageByHour.String():
		q.Step, ago = petcat.UsageByHour, 24*time.Hour
	default:
		return q, usageErrorf("--by must be day or hour (got %q)", by)
	}
	q.From, q.To = q.Step.Floor(now.Add(-ago)), now
	if from != "" {
		if q.From, err = parseSince(from, now); err != nil {
			return q, usageErrorf("--from %v", err)
		}
	}
	if to != "" {
		if q.To, err = parseSince(to, now); err != nil {
			return q, usageErrorf("--to %v", err)
		}
	}
	if !q.From.Before(q.To) {
		return q, usageErrorf("--from must be before --to (got %s and %s)", timestamp(q.From), timestamp(q.To))
	}
	if since := q.Step.KeptSince(now); q.From.Before(since) {
		// Who bills by the total must not get one that lacks them.
		problem := fmt.Sprintf("--from must not be before %s (got %s), because earlier %ss are no longer kept", timestamp(since), timestamp(q.From), q.Step)
		if longer := q.Step + 1; longer <= petcat.UsageByDay {
			problem += fmt.Sprintf("; --by %s goes back further", longer)
		}
		return q, usageErrorf("%s", problem)
	}
	return q, nil
}

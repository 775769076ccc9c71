package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"petcat"
	usagehistory "petcat/internal/usage"
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
	}
	by := cmd.Flags().String("by", "day", "the `period` of each line: day or hour")
	from := cmd.Flags().String("from", "", "only periods that begin at this `time` or later: a time ago (7d), a day (2026-11-21, from its beginning in UTC), or an instant (RFC 3339); 30 days or one day ago by default")
	to := cmd.Flags().String("to", "", "only periods that begin before this `time`; now by default")
	asCSV := cmd.Flags().Bool("csv", false, "print CSV and nothing else")
	return p.managing(cmd, func(c *call) error {
		if *asCSV && c.asJSON {
			return usageErrorf("choose --csv or --json, not both")
		}
		q, err := c.usageQuery(*by, *from, *to)
		if err != nil {
			return err
		}
		if err := c.read(); err != nil {
			return err
		}
		title, account := "all accounts", any(nil)
		if len(c.args) == 1 {
			a, err := c.account(c.args[0])
			if err != nil {
				return err
			}
			q.Account, title, account = a.ID, accountTitle(a), a.ID
		}
		h, err := c.Usage(c.ctx(), q)
		switch {
		case err != nil:
			return err
		case c.asJSON:
			return c.printJSON(append(record{{"account", account}, {"from", q.From}, {"to", q.To}}, usageRecord(h)...))
		case *asCSV:
			return written(usagehistory.WriteCSV(c.stdout, h))
		default:
			return c.printUsage(h, title, q)
		}
	})
}

// usageRecord is a usage history.
func usageRecord(h petcat.UsageHistory) record {
	periods, gaps := []record{}, []record{}
	for _, period := range h.Periods {
		r := append(record{{"begin", period.Begin}}, countsRecord(period.UsageCounts)...)
		periods = append(periods, append(r, field{"incomplete", period.Incomplete}))
	}
	for _, g := range h.Gaps {
		gaps = append(gaps, record{{"node", g.Node}, {"from", g.From}, {"until", timestampAfter(g.Until)}})
	}
	return record{{"periods", periods}, {"total", countsRecord(usageTotal(h))}, {"gaps", gaps}}
}

// countsRecord has refused requests by the code of their error; wrong_key stands for all
// codes of refused keys.
func countsRecord(c petcat.UsageCounts) record {
	refused := record{
		{"rate_limit_exceeded", c.MinuteRefused}, {"daily_quota_exceeded", c.DayRefused}, {"key_banned", c.BanRefused}, {"wrong_key", c.KeyRefused},
	}
	return record{{"requests", c.Requests}, {"refused", refused}, {"failed", c.Failed}, {"bytes", c.Bytes}}
}

func usageTotal(h petcat.UsageHistory) (sum petcat.UsageCounts) {
	for _, period := range h.Periods {
		sum.Add(period.UsageCounts)
	}
	return sum
}

// printUsage prints a usage history for people, and which requests may be missing in it.
func (c *call) printUsage(h petcat.UsageHistory, title string, q petcat.UsageQuery) error {
	row := func(begin string, c petcat.UsageCounts) []string {
		cells := []string{begin}
		for _, n := range []int64{c.Requests, c.MinuteRefused, c.DayRefused, c.BanRefused, c.KeyRefused, c.Failed, c.Bytes} {
			cells = append(cells, humanize.Comma(n))
		}
		return cells
	}
	rows := [][]string{{"BEGIN", "REQUESTS", "REFUSED: MINUTE", "DAY", "BAN", "KEY", "FAILED", "BYTES"}}
	for _, period := range h.Periods {
		cells := row(timestamp(period.Begin), period.UsageCounts)
		if period.Incomplete {
			cells = append(cells, "incomplete")
		}
		rows = append(rows, cells)
	}
	var err error
	if len(h.Periods) == 0 {
		err = c.say("There are no requests of %s from %s to %s.", title, timestamp(q.From), timestamp(q.To))
	} else if err = c.say("The usage of %s, in UTC:", title); err == nil {
		err = c.printColumns(append(rows, row("total", usageTotal(h))))
	}
	for _, g := range h.Gaps {
		if err == nil {
			err = c.say("Requests that a server answered after %s may be missing: it was killed, which was noticed at %s.", timestamp(g.From), timestampAfter(g.Until))
		}
	}
	return err
}

// usageQuery returns the part of the history that the flags ask for.
func (p *program) usageQuery(by, from, to string) (q petcat.UsageQuery, err error) {
	now := p.now()
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
		if q.From, err = parseTime(from, p.ago); err != nil {
			return q, usageErrorf("--from %v", err)
		}
	}
	if to != "" {
		if q.To, err = parseTime(to, p.ago); err != nil {
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

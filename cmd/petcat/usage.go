package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"petcat"
	usagehistory "petcat/internal/usage"
)

func (p *program) usageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "usage [ACCOUNT]",
		Short: "Show how many requests an account made, and how many were refused",
		Long: `Show the usage history of an account, or of all accounts together: the admitted
requests, the refused ones by reason, failures, and the bytes of the response bodies.

Days are kept for two years, hours for 30 days. All times are in UTC. Requests appear
within two seconds. A period is incomplete if a server was killed in it, and may have
lost the requests of its last second.`,
		Example: `  petcat usage acme
  petcat usage acme --by hour --from 2026-11-21 --to 2026-11-22
  petcat usage acme --from 2026-11-01 --to 2026-12-01 --csv
  petcat usage --top 5 --from 7d`,
	}
	cmd.Flags().String("by", "day", "the `period` of each line: day or hour")
	cmd.Flags().String("from", "", "only periods that begin at this `time` or later: a time ago (7d), a day (2026-11-21, from its beginning in UTC), or an instant (RFC 3339); 30 days or one day ago by default")
	cmd.Flags().String("to", "", "only periods that begin before this `time`; now by default")
	cmd.Flags().Bool("csv", false, "print CSV and nothing else")
	cmd.Flags().Int("top", 0, "compare accounts: the `N` with the most requests")
	cmd.Flags().Lookup("top").NoOptDefVal = "10"
	cmd.Flags().Bool("refused", false, "with --top: those with the most refused requests")
	complete(cmd, "by", "day", "hour")
	return p.managing(cmd, showUsage)
}

func showUsage(c *call) error {
	if c.is("csv") && (c.asJSON || c.given("top")) {
		return usageErrorf("--csv goes with neither --json nor --top; choose one")
	}
	q, err := c.usageQuery()
	if err != nil {
		return err
	}
	if c.given("top") {
		return c.showTop(q)
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
	if err != nil {
		return err
	}
	if c.is("csv") {
		return written(usagehistory.WriteCSV(c.stdout, h))
	}
	periods, total := recordsOf(h.Periods, periodRecord), petcat.UsageCounts{}
	for _, period := range h.Periods {
		total.Add(period.UsageCounts)
	}
	if !c.asJSON {
		return c.printUsage(periods, total, h.Gaps, fmt.Sprintf("There are no requests of %s from %s to %s.", title, timestamp(q.From), timestamp(q.To)))
	}
	return c.printJSON(record{
		{"account", account}, {"from", q.From}, {"to", q.To},
		{"periods", periods}, {"total", countsRecord(total)},
		{"gaps", recordsOf(h.Gaps, func(g petcat.UsageGap) record {
			return record{{"node", g.Node}, {"from", g.From}, {"until", g.Until}}
		})},
	})
}

// showTop compares accounts.
func (c *call) showTop(q petcat.UsageQuery) error {
	text := c.text("top")
	if len(c.args) == 1 { // --top N, which is --top=N
		text = c.args[0]
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > petcat.MaxPage {
		return usageErrorf("--top takes a number from 1 to %d (got %q)", petcat.MaxPage, text)
	}
	top, err := c.TopAccounts(c.ctx(), petcat.TopQuery{From: q.From, To: q.To, ByRefused: c.is("refused"), Limit: limit})
	if err != nil {
		return err
	}
	return c.list(recordsOf(top, func(u petcat.AccountUsage) record {
		return append(record{{"account", u.Account}, {"name", u.Name}}, countsRecord(u.UsageCounts)...)
	}), "account name requests minute_refused day_refused ban_refused key_refused failed bytes",
		fmt.Sprintf("There are no such requests from %s to %s.", timestamp(q.From), timestamp(q.To)))
}

func periodRecord(period petcat.UsagePeriod) record {
	r := append(record{{"begin", period.Begin}}, countsRecord(period.UsageCounts)...)
	return append(r, field{"incomplete", period.Incomplete})
}

// countsRecord names the counts as the columns of the CSV are named.
func countsRecord(c petcat.UsageCounts) record {
	return record{
		{"requests", c.Requests},
		{"minute_refused", c.MinuteRefused}, {"day_refused", c.DayRefused}, {"ban_refused", c.BanRefused}, {"key_refused", c.KeyRefused},
		{"failed", c.Failed}, {"bytes", c.Bytes},
	}
}

// printUsage prints a usage history for people, and which requests may be missing in it. none
// is the sentence for no requests.
func (c *call) printUsage(periods []record, total petcat.UsageCounts, gaps []petcat.UsageGap, none string) error {
	if len(periods) > 0 {
		sum := append(record{{"begin", "total"}}, countsRecord(total)...)
		periods = append(periods, append(sum, field{"incomplete", false}))
	}
	for _, g := range gaps {
		c.warn("requests that a server answered after %s may be missing: it was killed, which was noticed at %s", timestamp(g.From), timestamp(g.Until))
	}
	return c.list(periods, "begin requests minute_refused day_refused ban_refused key_refused failed bytes incomplete", none)
}

// usageQuery returns the part of the history that the flags ask for.
func (c *call) usageQuery() (q petcat.UsageQuery, err error) {
	now, ago := c.now(), petcat.UsageHours // by default
	switch by := c.text("by"); by {
	case "day":
		q.Step = petcat.UsageByDay
	case "hour":
		q.Step, ago = petcat.UsageByHour, 24*time.Hour
	default:
		return q, usageErrorf("--by must be day or hour (got %q)", by)
	}
	if q.From, err = c.time("from", c.ago); err != nil {
		return q, err
	}
	if q.To, err = c.time("to", c.ago); err != nil {
		return q, err
	}
	if !c.given("from") {
		q.From = q.Step.Floor(now.Add(-ago))
	}
	if !c.given("to") {
		q.To = now
	}
	if !q.From.Before(q.To) {
		return q, usageErrorf("--from must be before --to (got %s and %s)", timestamp(q.From), timestamp(q.To))
	}
	if since := q.Step.KeptSince(now); q.From.Before(since) {
		// Who bills by the total must not get one that lacks them.
		problem := fmt.Sprintf("--from must not be before %s (got %s), because earlier %ss are no longer kept", timestamp(since), timestamp(q.From), q.Step)
		if q.Step == petcat.UsageByHour {
			problem += "; --by day goes back further"
		}
		return q, usageErrorf("%s", problem)
	}
	return q, nil
}

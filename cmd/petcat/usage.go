package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
	usagehistory "github.com/petcat-api/petcat/internal/usage"
)

func (p *program) usageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "usage [ACCOUNT]",
		Short: "Show the allowed and rejected requests of accounts",
		Long: `Show the usage history of an account, or of all accounts together: allowed
requests, rejected requests by reason, failures, and the size of the response
bodies in bytes.

Days are kept for two years, hours for 30 days. All times are in UTC. Requests
appear within two seconds, or as soon as the database is writable. A period is
incomplete if a server was killed in it, or a failover of PostgreSQL lost usage:
the requests of about one second may be missing.

With --by-key or --by-operation, print one line per key or operation and period,
and a total for each. Each server counts at most 256 pairs of key and operation
per account and hour: further requests have neither.`,
		Example: `  petcat usage acme
  petcat usage acme --by-key --from 1d
  petcat usage acme --by hour --from 2026-11-21 --to 2026-11-22
  petcat usage acme --from 2026-11-01 --to 2026-12-01 --csv
  petcat usage --top 5 --from 7d`,
	}
	cmd.Flags().String("by", "day", "print one line per `period`: day or hour")
	cmd.Flags().Bool("by-key", false, "show the usage of each key of the account, kept for 13 months")
	cmd.Flags().Bool("by-operation", false, "show the usage of each operation by the account, kept for 13 months")
	cmd.Flags().String("from", "",
		"show periods that begin at this `time` or later: a duration ago (7d), a day (2026-11-21, from 00:00 "+
			"UTC), or an instant (RFC 3339); by default 30 days, or with --by hour one day, before --to")
	cmd.Flags().String("to", "", "show periods that begin before this `time`; now by default")
	cmd.Flags().Bool("csv", false, "print CSV")
	numberFlag(cmd, "top", 0, "show the `N` accounts with the most requests")
	cmd.Flags().Lookup("top").NoOptDefVal = "10"
	cmd.Flags().Bool("rejected", false, "with --top, show the accounts with the most rejected requests")
	complete(cmd, "by", "day", "hour")
	cmd.AddCommand(p.usageExportCommand())
	return p.managing(cmd, showUsage)
}

// group returns the query's group, from the flags.
func (c *call) group() (petcat.UsageGroup, error) {
	byKey, byOperation := c.is("by-key"), c.is("by-operation")
	switch {
	case !byKey && !byOperation:
		return petcat.Ungrouped, nil
	case byKey && byOperation, c.is("csv"), c.given("top"), len(c.args) == 0:
		return petcat.Ungrouped, usageErrorf("--by-key and --by-operation need an ACCOUNT, and cannot be combined " +
			"with each other, --csv or --top")
	case byKey:
		return petcat.GroupByKey, nil
	default:
		return petcat.GroupByOperation, nil
	}
}

func showUsage(c *call) error {
	if c.is("csv") && (c.asJSON || c.given("top")) {
		return usageErrorf("--csv cannot be combined with --json or --top; choose one")
	}
	group, err := c.group()
	if err != nil {
		return err
	}
	if c.given("top") {
		return c.showTop()
	}
	title, id, account := "all accounts", petcat.AllAccounts, any(nil)
	if len(c.args) == 1 {
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		title, id, account = accountTitle(a), a.ID, a.ID
	}
	q, err := c.usageQuery(id)
	if err != nil {
		return err
	}
	if q, err = q.GroupBy(group, c.now()); err != nil {
		return usageErrorf("--%s", explain(err)) // the message begins with the flag's name
	}
	h, err := c.store.Usage(c.ctx(), q)
	if err != nil {
		return err
	}
	none := fmt.Sprintf("There are no requests of %s from %s to %s.", title, timestamp(q.From), timestamp(q.To))
	if group != petcat.Ungrouped {
		return c.showParts(q, h, none)
	}
	if c.is("csv") {
		return usagehistory.WriteCSV(&c.printed, h)
	}
	if c.asJSON {
		return c.printJSON(representation.Usage(account, q, h, nil))
	}
	return c.printUsage(h, none)
}

// showParts prints an account's usage by the query's group. Without usage, it prints none.
func (c *call) showParts(q petcat.UsageQuery, h petcat.UsageHistory, none string) error {
	parts, err := c.store.UsageParts(c.ctx(), q)
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(representation.Usage(q.Account, q, h, parts))
	}
	lines := recordsOf(parts, representation.UsagePart)
	for _, sum := range petcat.SumUsage(parts) {
		lines = append(lines, append(record{kv("begin", "total")}, representation.UsageDetail(sum)...))
	}
	c.warnGaps(h)
	return c.list(lines, "begin "+string(q.Group)+" requests rejected failed", none)
}

// showTop prints the accounts with the most requests.
func (c *call) showTop() error {
	q, err := c.usageQuery(petcat.AllAccounts)
	if err != nil {
		return err
	}
	text := c.text("top")
	if len(c.args) == 1 { // --top N means --top=N
		text = c.args[0]
	}
	limit, isNumber := petcat.ParseNumber(text)
	if !isNumber || limit < 1 || limit > petcat.MaxPage {
		return usageErrorf("--top takes a number from 1 to %d (got %q)", petcat.MaxPage, text)
	}
	top, err := c.store.TopAccounts(
		c.ctx(),
		petcat.TopQuery{From: q.From, To: q.To, ByRejected: c.is("rejected"), Limit: int(limit)},
	)
	if err != nil {
		return err
	}
	const columns = "account name requests minute_rejected day_rejected ban_rejected key_rejected failed bytes"
	return c.list(records(c, top), columns, fmt.Sprintf("No matching requests from %s to %s.",
		timestamp(q.From), timestamp(q.To)))
}

// printUsage prints a usage history as a table, with warnings about gaps. Without requests, it prints
// none.
func (c *call) printUsage(h petcat.UsageHistory, none string) error {
	periods, total := recordsOf(h.Periods, representation.Period), petcat.UsagePeriod{}
	for _, p := range h.Periods {
		total.Add(p.UsageCounts)
		total.Incomplete = total.Incomplete || p.Incomplete
	}
	if len(periods) > 0 {
		periods = append(periods, append(record{kv("begin", "total")}, representation.Period(total)[1:]...))
	}
	c.warnGaps(h)
	return c.list(
		periods,
		"begin requests minute_rejected day_rejected ban_rejected key_rejected failed bytes incomplete",
		none,
	)
}

// warnGaps warns about the gaps of a usage history.
func (c *call) warnGaps(h petcat.UsageHistory) {
	for _, g := range h.Gaps {
		c.warn(
			"requests after %s may be missing, because a server was killed, or the database was unavailable or failed over; "+
				"this was detected at %s",
			timestamp(g.From), timestamp(g.Until))
	}
}

// usageQuery returns the query for an account's usage, from the flags.
func (c *call) usageQuery(account petcat.AccountID) (petcat.UsageQuery, error) {
	return c.usageQueryBy(account, petcat.UsageStep(c.text("by")))
}

// usageQueryBy is usageQuery without the flag --by.
func (c *call) usageQueryBy(account petcat.AccountID, step petcat.UsageStep) (q petcat.UsageQuery, err error) {
	from, err := c.time("from", c.ago)
	if err != nil {
		return q, err
	}
	to, err := c.time("to", c.ago)
	if err != nil {
		return q, err
	}
	q, err = petcat.ParseUsageQuery(account, step, from, to, c.now())
	if err != nil {
		err = usageErrorf("--%s", explain(err)) // the message begins with the flag's name
	}
	return q, err
}

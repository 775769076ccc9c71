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
appear within two seconds, or as soon as the database can be written. A period
is incomplete if a server was killed in it, or a failover of PostgreSQL lost
usage: requests since the server's last write may be missing, about a second's.`,
		Example: `  petcat usage acme
  petcat usage acme --by hour --from 2026-11-21 --to 2026-11-22
  petcat usage acme --from 2026-11-01 --to 2026-12-01 --csv
  petcat usage --top 5 --from 7d`,
	}
	cmd.Flags().String("by", "day", "print one line per `period`: day or hour")
	cmd.Flags().String("from", "",
		"show periods that begin at this `time` or later: a duration ago (7d), a day (2026-11-21, from 00:00 "+
			"UTC), or an instant (RFC 3339); by default 30 days, or with --by hour one day, before --to")
	cmd.Flags().String("to", "", "show periods that begin before this `time`; now by default")
	cmd.Flags().Bool("csv", false, "print CSV and nothing else")
	numberFlag(cmd, "top", 0, "show the `N` accounts with the most requests")
	cmd.Flags().Lookup("top").NoOptDefVal = "10"
	cmd.Flags().Bool("rejected", false, "with --top, show the accounts with the most rejected requests")
	complete(cmd, "by", "day", "hour")
	return p.managing(cmd, showUsage)
}

func showUsage(c *call) error {
	if c.is("csv") && (c.asJSON || c.given("top")) {
		return usageErrorf("--csv cannot be combined with --json or --top; choose one")
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
	h, err := c.store.Usage(c.ctx(), q)
	if err != nil {
		return err
	}
	if c.is("csv") {
		return usagehistory.WriteCSV(&c.printed, h)
	}
	if c.asJSON {
		return c.printJSON(representation.Usage(account, q, h))
	}
	return c.printUsage(
		h,
		fmt.Sprintf("There are no requests of %s from %s to %s.", title, timestamp(q.From), timestamp(q.To)),
	)
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
	for _, g := range h.Gaps {
		c.warn(
			"requests after %s may be missing, because a server was killed, or the database was unavailable or failed over; "+
				"this was detected at %s",
			timestamp(g.From), timestamp(g.Until))
	}
	return c.list(
		periods,
		"begin requests minute_rejected day_rejected ban_rejected key_rejected failed bytes incomplete",
		none,
	)
}

// usageQuery returns the query for the usage of an account that the flags describe.
func (c *call) usageQuery(account petcat.AccountID) (q petcat.UsageQuery, err error) {
	from, err := c.time("from", c.ago)
	if err != nil {
		return q, err
	}
	to, err := c.time("to", c.ago)
	if err != nil {
		return q, err
	}
	q, err = petcat.ParseUsageQuery(account, petcat.UsageStep(c.text("by")), from, to, c.now())
	if err != nil {
		err = usageErrorf("--%s", explain(err)) // the message begins with the flag's name
	}
	return q, err
}

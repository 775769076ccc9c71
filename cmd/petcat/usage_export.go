package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	usagehistory "github.com/petcat-api/petcat/internal/usage"
)

func (p *program) usageExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the usage of all accounts by hour and operation",
		Long: `Print the usage of all accounts by hour and operation, for a program that bills:
CSV, or with --format cloudevents one CloudEvent 1.0 per line. The id of an
event consists of its dataset, account, hour and operation. Exports may overlap:
an event that is sent again has the same id.

Both formats contain only complete hours: they ended at least five minutes ago,
and all running servers have written their counts. Hours are kept for 30 days.
Requests without an operation, or beyond the 256 pairs of key and operation that
a server counts per account and hour, have the operation "".`,
		Example: `  petcat usage export --from 2026-11-21 --to 2026-11-22 > usage.csv
  petcat usage export --format cloudevents --from 1d`,
	}
	cmd.Flags().String("format", "csv", "print this `format`: csv or cloudevents")
	cmd.Flags().String("from", "",
		"export hours that begin at this `time` or later: a duration ago (7d), a day (2026-11-21, from 00:00 UTC), "+
			"or an instant (RFC 3339); by default one day before --to")
	cmd.Flags().String("to", "", "export hours that begin before this `time`; now by default")
	complete(cmd, "format", "csv", "cloudevents")
	registerFlags(cmd, "data", "database")
	return p.command(cmd, func(c *call) error {
		if err := c.open(false); err != nil {
			return err
		}
		return exportUsage(c)
	})
}

// completeAfter is the time after an hour within which its last requests finish.
const completeAfter = 5 * time.Minute

func exportUsage(c *call) error {
	format := c.text("format")
	if format != "csv" && format != "cloudevents" {
		return usageErrorf("--format must be csv or cloudevents (got %q)", format)
	}
	q, err := c.usageQueryBy(petcat.AllAccounts, petcat.UsageByHour)
	if err != nil {
		return err
	}
	stored, err := c.store.UsageStoredUntil(c.ctx())
	if err != nil {
		return err
	}
	w := usagehistory.NewExport(&c.printed, format == "cloudevents", c.store.Dataset())
	hour := q.From.Add(time.Hour - 1).Truncate(time.Hour)
	complete := petcat.UsageByHour.Floor(stored.Add(-completeAfter))
	for ; hour.Before(q.To) && hour.Before(complete); hour = hour.Add(time.Hour) {
		rows, err := c.store.OperationUsage(c.ctx(), hour)
		if err != nil {
			return err
		}
		w.Write(rows)
	}
	if ended := petcat.UsageByHour.Floor(c.now().Add(-completeAfter)); hour.Before(q.To) && hour.Before(ended) {
		c.warn("a running server has not written its counts of the hours from %s; export them later", timestamp(hour))
	}
	return w.Close()
}

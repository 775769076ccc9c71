package main

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"petcat"
	usagehistory "petcat/internal/usage"
)

// usageReport is a usage history with its query.
type usageReport struct {
	query   petcat.UsageQuery
	title   string // the account, as messages name it
	history petcat.UsageHistory
}

// usageCountsJSON are counts as --json prints them.
type usageCountsJSON struct {
	Requests int64            `json:"requests"`
	Refused  usageRefusedJSON `json:"refused"`
	Failed   int64            `json:"failed"`
	Bytes    int64            `json:"bytes"`
}

// usageRefusedJSON counts refused requests by the code of their error. Key stands for
// all codes of refused keys.
type usageRefusedJSON struct {
	Minute int64 `json:"rate_limit_exceeded"`
	Day    int64 `json:"daily_quota_exceeded"`
	Ban    int64 `json:"key_banned"`
	Key    int64 `json:"wrong_key"`
}

type usagePeriodJSON struct {
	Begin string `json:"begin"`
	usageCountsJSON

	Incomplete bool `json:"incomplete"`
}

type usageGapJSON struct {
	Node  string `json:"node"`
	From  string `json:"from"`
	Until string `json:"until"`
}

type usageJSON struct {
	Account *string           `json:"account"` // null: all
	From    string            `json:"from"`
	To      string            `json:"to"`
	Periods []usagePeriodJSON `json:"periods"`
	Total   usageCountsJSON   `json:"total"`
	Gaps    []usageGapJSON    `json:"gaps"`
}

func usageCountsDocument(c petcat.UsageCounts) usageCountsJSON {
	return usageCountsJSON{
		Requests: c.Requests, Failed: c.Failed, Bytes: c.Bytes,
		Refused: usageRefusedJSON{Minute: c.MinuteRefused, Day: c.DayRefused, Ban: c.BanRefused, Key: c.KeyRefused},
	}
}

func (r usageReport) total() (sum petcat.UsageCounts) {
	for _, period := range r.history.Periods {
		sum.Add(period.UsageCounts)
	}
	return sum
}

func (r usageReport) document() usageJSON {
	d := usageJSON{
		From: timestamp(r.query.From), To: timestamp(r.query.To), Total: usageCountsDocument(r.total()),
		Periods: []usagePeriodJSON{}, Gaps: []usageGapJSON{},
	}
	if r.query.Account != petcat.AllAccounts {
		d.Account = nullable(r.query.Account.String())
	}
	for _, period := range r.history.Periods {
		d.Periods = append(d.Periods, usagePeriodJSON{timestamp(period.Begin), usageCountsDocument(period.UsageCounts), period.Incomplete})
	}
	for _, g := range r.history.Gaps {
		d.Gaps = append(d.Gaps, usageGapJSON{g.Node, timestamp(g.From), timestampAfter(g.Until)})
	}
	return d
}

// usageCells returns counts in the order of the columns.
func usageCells(c petcat.UsageCounts) (cells []string) {
	for _, n := range []int64{c.Requests, c.MinuteRefused, c.DayRefused, c.BanRefused, c.KeyRefused, c.Failed, c.Bytes} {
		cells = append(cells, humanize.Comma(n))
	}
	return cells
}

func (p *program) printUsageCSV(r usageReport) error {
	if err := usagehistory.WriteCSV(p.stdout, r.history); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (p *program) printUsage(r usageReport) error {
	if len(r.history.Periods) == 0 {
		if err := p.say("There are no requests of %s from %s to %s.", r.title, timestamp(r.query.From), timestamp(r.query.To)); err != nil {
			return err
		}
		return p.printGaps(r)
	}
	var rows [][]string
	for _, period := range r.history.Periods {
		row := append([]string{timestamp(period.Begin)}, usageCells(period.UsageCounts)...)
		if period.Incomplete {
			row = append(row, "incomplete")
		}
		rows = append(rows, row)
	}
	rows = append(rows, append([]string{"total"}, usageCells(r.total())...))
	if err := p.say("The usage of %s, in UTC:", r.title); err != nil {
		return err
	}
	if err := p.printTable([]string{"BEGIN", "REQUESTS", "REFUSED: MINUTE", "DAY", "BAN", "KEY", "FAILED", "BYTES"}, rows); err != nil {
		return err
	}
	return p.printGaps(r)
}

// printGaps says which requests may be missing.
func (p *program) printGaps(r usageReport) error {
	for _, g := range r.history.Gaps {
		if err := p.say("Requests that a server answered after %s may be missing: it was killed, which was noticed at %s.", timestamp(g.From), timestampAfter(g.Until)); err != nil {
			return err
		}
	}
	return nil
}

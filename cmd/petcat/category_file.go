package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	client "github.com/petcat-api/petcat/client"
	"github.com/petcat-api/petcat/internal/importer"
)

// importCommand is a run of an import.
type importCommand struct {
	*call

	file             string
	mode             importer.Mode
	dryRun, quiet    bool
	created, updated atomic.Int64 // rows
	existing         int64        // rows that already existed
	rejected         []importer.BadRow

	windows []client.WindowUsage // at begun
	begun   time.Time
	planned int // rows to send
}

func (p *program) categoryImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Create the missing categories of a file",
		Long: `Create a category for each row of a CSV, JSON or JSON lines file (with the
fields name, description and id), except those that exist with the same name and
description. So the same file creates nothing twice, even days later, and you
can interrupt the command and run it again. If a row occurs n times, n
categories exist afterwards. Do not run two imports of one file at the same
time.

Ids are ignored. With --update, a row with an id updates the category with that
id; rows without an id are handled as above. --dry-run shows the result without
changing anything.

Bad rows are reported with their line, and do not stop the import, which obeys
the limits of the account. Exit codes: 0 every row exists, 65 bad rows or a bad
FILE, 75 try again later (the daily quota is used up, or the service is
unavailable), 130 interrupted.`,
		Example: `  petcat category import categories.csv
  zcat categories.jsonl.gz | petcat category import - --format jsonl`,
	}
	completeFiles(cmd)
	urlFlag(cmd)
	quietFlag(cmd)
	formatFlags(cmd)
	cmd.Flags().Bool("allow-duplicates", false, "create every row, even if it exists")
	cmd.Flags().Bool("update", false, "update the categories whose ids are in the file")
	cmd.Flags().Bool("dry-run", false, "show the result without changing anything")
	return p.printing(cmd, func(c *call) error {
		defer interruptible(c.cmd)()
		f := &importCommand{call: c, file: c.args[0], dryRun: c.is("dry-run"), quiet: c.is("quiet")}
		f.mode = importer.Mode{Update: c.is("update"), Duplicates: c.is("allow-duplicates")}
		return f.run()
	})
}

// formatFlags adds --format and --raw to a command that reads or writes categories.
func formatFlags(cmd *cobra.Command) {
	cmd.Flags().String("format", "",
		"use this `format`: csv, json (one array) or jsonl (one object per line); by default, the extension of FILE")
	cmd.Flags().Bool("raw", false, "neither add nor remove apostrophes before formulas in CSV")
	complete(cmd, "format", string(importer.CSV), string(importer.JSON), string(importer.JSONLines))
}

// format returns the format of a file: --format, or the file's extension.
func (c *call) format(path string) (importer.Format, error) {
	name := cmp.Or(c.text("format"), strings.TrimPrefix(filepath.Ext(path), "."))
	f, known := importer.ParseFormat(name)
	if !known {
		return "", usageErrorf(
			"the format of %q is unknown (%q); give --format csv, json (one array) or jsonl (one object per line)",
			path, name)
	}
	return f, nil
}

// read reads the file. A malformed file has its own exit code.
func (f *importCommand) read() ([]importer.Row, []importer.BadRow, error) {
	format, err := f.format(f.file)
	if err != nil {
		return nil, nil, err
	}
	in, err := f.openInput(f.file, "a CSV, JSON or JSON lines file")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = in.done() }()
	rows, bad, err := importer.Read(in, format, f.is("raw"))
	if _, isFormat := errors.AsType[*importer.FormatError](err); isFormat {
		err = &failure{code: exitData, text: fmt.Sprintf("%s cannot be imported: %v", f.file, err), cause: err}
	} else if err != nil {
		err = fmt.Errorf("%s cannot be read: %w", f.file, reason(err))
	}
	return rows, bad, err
}

func (f *importCommand) run() error {
	rows, bad, err := f.read()
	if err != nil {
		return err
	}
	api, service, err := f.dial()
	if err != nil {
		return err
	}
	plan, err := f.plan(api, rows)
	if err != nil {
		return f.verdict(explainAPI(err, service))
	}
	if f.dryRun {
		plan.Reject()
	}
	f.existing = plan.Existing
	f.reject(append(bad, plan.Bad...)...)
	if f.dryRun {
		for _, row := range plan.Rows {
			f.count(row)
		}
	} else {
		err = f.carryOut(api, plan.Rows)
	}
	if printErr := f.report(err == nil && !f.dryRun); printErr != nil {
		return errors.Join(err, printErr)
	}
	return f.verdict(explainAPI(err, service))
}

// plan compares rows with the list. Its first request, for the usage, is free and detects a wrong
// URL or key at once. All other requests wait as long as needed: for the next minute, or for a
// service that restarts.
func (f *importCommand) plan(api *client.Client, rows []importer.Row) (plan importer.Plan, err error) {
	var list []client.Category
	var res *client.Response
	usage, _, err := api.Usage(f.ctx(), client.WithRetries(2), client.WithMaxWait(2*time.Second))
	if err == nil && (f.mode.Update || !f.mode.Duplicates) {
		list, res, err = api.Categories.List(f.ctx())
		// An old list may lack rows of the previous run.
		if err == nil && !slices.Contains([]string{"", "0"}, res.Header.Get("Age")) {
			err = tryLaterf(
				"nothing was sent: the service cannot reach its database, so its list may lack new categories; " +
					"wait until the database is back")
		}
		if err == nil { // without the requests for the list
			usage, _, err = api.Usage(f.ctx())
		}
	}
	if err != nil {
		return plan, err
	}
	hasID := func(row importer.Row) bool { return row.ID != "" }
	if !f.mode.Update && !f.quiet && slices.ContainsFunc(rows, hasID) {
		// Otherwise, importing an exported and edited list would duplicate the edited rows.
		_, _ = fmt.Fprintf(
			f.stderr,
			"petcat: the ids in %s are ignored; --update updates the categories with these ids\n",
			printable(f.file),
		)
	}
	plan = importer.NewPlan(rows, list, f.mode)
	f.windows, f.begun, f.planned = usage.Windows, f.now(), len(plan.Rows)
	return plan, nil
}

// forecast estimates the remaining time from the quotas only, and the day of the last row if today's
// quota is not enough.
func (f *importCommand) forecast() (wait time.Duration, day string) {
	at, laterDay := importer.Finish(int64(f.planned), f.windows, f.begun)
	if laterDay {
		day = at.UTC().Format(time.DateOnly)
	}
	return max(at.Sub(f.now()), 0), day
}

// reject reports bad rows.
func (f *importCommand) reject(rows ...importer.BadRow) {
	f.rejected = append(f.rejected, rows...)
	for _, row := range rows {
		if !f.asJSON {
			line := fmt.Sprintf("%s:%d: %s: %s", f.file, row.Line, row.Code, row.Message)
			_, _ = fmt.Fprintln(f.stderr, printable(line))
		}
	}
}

func (f *importCommand) count(row importer.Row) {
	if row.Update != 0 {
		f.updated.Add(1)
	} else {
		f.created.Add(1)
	}
}

// sent returns the number of rows that the service accepted.
func (f *importCommand) sent() int64 { return f.created.Load() + f.updated.Load() }

// progress returns the state of an import, such as: 50%, 500 of 1,000 rows sent, 20/s, 25s left.
func (f *importCommand) progress(api *client.Client, total int64) string {
	sent, took := f.sent(), f.now().Sub(f.begun)
	rate := float64(sent) / max(took.Seconds(), 0.001)
	text := fmt.Sprintf("%d%%, %s of %s rows sent, %.0f/s",
		100*sent/max(total, 1), humanize.Comma(sent), humanize.Comma(total), rate)
	wait, day := f.forecast()
	left := max(wait, time.Duration(float64(total-sent)/max(rate, 1)*float64(time.Second)))
	if day != "" {
		text += ", finished on " + day
	} else {
		text += ", " + left.Round(time.Second).String() + " left"
	}
	if l := api.Limits(); l.Limit > 0 && l.Remaining == 0 {
		text += ", waiting until " + timestamp(l.Reset)
	}
	return text
}

// carryOut sends rows and shows the progress. It reports rejected rows at the end.
func (f *importCommand) carryOut(api *client.Client, rows []importer.Row) (err error) {
	var rejected []importer.BadRow
	send := func(ctx context.Context, row importer.Row, key string) error {
		err := send(ctx, api, row, key)
		if err == nil {
			f.count(row)
		}
		return err
	}
	f.showing(!f.asJSON && !f.quiet, func() string { return f.progress(api, int64(len(rows))) }, func() {
		rejected, err = importer.Run(f.ctx(), rows, send)
	})
	f.reject(rejected...)
	return err
}

// send creates or updates the category of a row.
func send(ctx context.Context, c *client.Client, row importer.Row, key string) error {
	if row.Update == 0 {
		_, _, err := c.Categories.Create(
			ctx,
			client.NewCategory{Name: row.Name, Description: row.Description},
			client.WithIdempotencyKey(key),
		)
		return err
	}
	change := client.CategoryChange{Name: &row.Name}
	if !row.NoDescription {
		change.Description = &row.Description
	}
	_, _, err := c.Categories.Update(ctx, row.Update, change)
	return err
}

// report prints the result. complete is true if all rows were processed.
func (f *importCommand) report(complete bool) error {
	if f.quiet && !f.asJSON {
		return nil
	}
	rejected := []record{}
	for _, row := range f.rejected {
		rejected = append(rejected, record{
			kv("line", row.Line),
			kv("code", row.Code),
			kv("message", row.Message),
		})
	}
	result := counted(f.created.Load(), "row", "rows") + " created"
	if f.dryRun {
		result = counted(f.created.Load(), "row", "rows") + " would be created"
	}
	if f.mode.Update {
		result += fmt.Sprintf(", %s updated", humanize.Comma(f.updated.Load()))
	}
	takes := ""
	if wait, day := f.forecast(); f.dryRun && day != "" {
		takes = fmt.Sprintf(" With the quotas, the last row is sent on %s.", day)
	} else if f.dryRun && wait > 0 {
		takes = fmt.Sprintf(" With the quotas, that takes %s.", wait.Round(time.Second))
	}
	return f.print(record{
		kv("file", f.file),
		kv("complete", complete),
		kv("dry_run", f.dryRun),
		kv("created", f.created.Load()),
		kv("updated", f.updated.Load()),
		kv("existing", f.existing),
		kv("rejected", rejected),
	}, "%s: %s, %s existed already, %s rejected.%s",
		f.file, result, humanize.Comma(f.existing), humanize.Comma(int64(len(rejected))), takes)
}

// verdict returns the error of the command. err is the error of its import.
func (f *importCommand) verdict(err error) error {
	again := "run the command again to continue"
	if f.mode.Duplicates {
		again = "run the command again without --allow-duplicates to continue"
	}
	later, _ := errors.AsType[*failure](err)
	switch {
	case later != nil && later.code == exitTryLater:
		if _, day := f.forecast(); day != "" {
			again += fmt.Sprintf("; if you run it every day, it finishes on %s", day)
		}
		return &failure{code: later.code, text: later.text + "; " + again, cause: err}
	case errors.Is(err, context.Canceled):
		return &failure{
			code: exitInterrupted,
			text: fmt.Sprintf("interrupted; %s sent; %s", counted(f.sent(), "row was", "rows were"), again),
		}
	case err == nil && len(f.rejected) > 0:
		return &failure{
			code: exitData,
			text: fmt.Sprintf("%s of %s rejected; correct the file and run the command again",
				counted(int64(len(f.rejected)), "row", "rows"), f.file),
		}
	default:
		return err
	}
}

func (p *program) categoryExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all categories into a file, or to stdout",
		Long: `Write all categories into a CSV, JSON or JSON lines file for petcat category
import, or to stdout, by default as CSV. FILE appears when it is complete. Every
1,000 categories take one request. In CSV, an apostrophe prevents spreadsheets
from running a text as a formula; an import removes it.`,
		Example: `  petcat category export categories.csv
  petcat category export --format jsonl | jq -r .name`,
	}
	completeFiles(cmd)
	urlFlag(cmd)
	quietFlag(cmd)
	formatFlags(cmd)
	cmd.Flags().Bool("force", false, "replace FILE if it exists")
	return p.printing(cmd, exportCategories)
}

func exportCategories(c *call) error {
	defer interruptible(c.cmd)()
	path, format := dash, importer.CSV
	if len(c.args) > 0 {
		path = c.args[0]
	}
	if path != dash || c.given("format") {
		var err error
		if format, err = c.format(path); err != nil {
			return err
		}
	}
	api, service, err := c.dial()
	if err != nil {
		return err
	}
	out, err := c.openOutput(path, c.is("force"), c.asJSON)
	if err != nil {
		return err
	}
	defer out.discard()
	var done atomic.Int64
	quiet := !c.asJSON && (c.is("quiet") || path == dash)
	exported := func() string { return counted(done.Load(), "category", "categories") + " exported" }
	c.showing(!c.asJSON && !quiet, exported, func() {
		all := api.Categories.All(c.ctx(), client.PageOptions{})
		err = importer.Write(out, format, all, c.is("raw"), func() { done.Add(1) })
	})
	if err == nil {
		err = out.keep()
	}
	if err != nil || quiet {
		return explainAPI(err, service)
	}
	return c.print(record{kv("file", path), kv("categories", done.Load())}, "%s to %s.", exported(), path)
}

// showing calls do and, on a terminal, shows its progress.
func (p *program) showing(show bool, how func() string, do func()) {
	if !show || !p.isTerminal(p.stderr) || slices.Contains(p.environ, "TERM=dumb") {
		do()
		return
	}
	done, tick := make(chan struct{}), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	go func() {
		defer close(done)
		do()
	}()
	for {
		select {
		case <-tick.C:
			// Without automatic margins, a narrow terminal truncates the line. A wrapped line
			// could not be redrawn.
			_, _ = fmt.Fprint(p.stderr, "\r\x1b[?7l"+how()+"\x1b[K\x1b[?7h")
		case <-done:
			_, _ = fmt.Fprint(p.stderr, "\r\x1b[K")
			return
		}
	}
}

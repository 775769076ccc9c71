package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	client "petcat/client"
	"petcat/internal/importer"
)

// importCommand is a run of an import.
type importCommand struct {
	*call

	file, format string
	mode         importer.Mode
	raw, dryRun  bool
	url          *string
	quiet        *bool

	windows                    []client.WindowUsage // at the time begun
	begun                      time.Time
	created, updated, existing int64 // rows; the list had the existing ones
	refused                    []importer.BadRow
}

func (p *program) categoryImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Create the categories of a file that do not exist yet",
		Long: `Create the categories of a CSV, JSON or JSON lines file (with the fields name,
description and id) that the list of the service does not have yet, with the same name
and description. So the same file creates nothing twice, even days later, and the
command can be interrupted and run again. A row that occurs several times exists that
often in the end. Do not run two imports of one file at the same time.

Ids are ignored. With --update, a row with an id changes the category with that id, and
rows without one are created as above. --dry-run says what would be done.

A bad row is reported with its line and stops nothing. The limits of the account are
obeyed. Exit codes: 0 every row exists, 65 rows are bad or FILE is, 75 try again later
(the quota of the day is used up, or the service is away), 130 interrupted.`,
		Example: `  petcat category import categories.csv
  zcat categories.jsonl.gz | petcat category import - --format jsonl`,
	}
	completeFiles(cmd)
	f := &importCommand{url: urlFlag(cmd), quiet: quietFlag(cmd)}
	formatFlags(cmd, &f.format, &f.raw)
	cmd.Flags().BoolVar(&f.mode.Duplicates, "allow-duplicates", false, "create every row, even if the list has it")
	cmd.Flags().BoolVar(&f.mode.Update, "update", false, "change the categories whose ids the rows have")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	return p.printing(cmd, func(c *call) error {
		f.call, f.file = c, c.args[0]
		defer interruptible(c.cmd)()
		return f.run()
	})
}

// formatFlags adds --format and --raw to a command that reads or writes categories.
func formatFlags(cmd *cobra.Command, format *string, raw *bool) {
	cmd.Flags().StringVar(format, "format", "", "`format`: csv, json (one array) or jsonl (one object a line); default by the ending of FILE")
	cmd.Flags().BoolVar(raw, "raw", false, "in CSV, no apostrophe before a text that a spreadsheet would take for a formula")
	var names []string
	for _, f := range importer.Formats() {
		names = append(names, string(f))
	}
	complete(cmd, "format", names...)
}

// formatOf returns the format of a file.
func formatOf(path, flag string) (importer.Format, error) {
	if flag != "" {
		f, err := importer.ParseFormat(flag)
		return f, usage(err)
	}
	f, known := importer.FormatOf(path)
	switch {
	case known:
		return f, nil
	case path == "":
		return "", usageErrorf("FILE is empty; name a file, or - for stdin or stdout")
	case path == dash:
		return "", usageErrorf("stdin has no ending that names a format; give --format csv, json or jsonl")
	default:
		return "", usageErrorf("the ending of %s names no format; give --format csv, json or jsonl", path)
	}
}

// read reads the file.
func (f *importCommand) read() ([]importer.Row, []importer.BadRow, error) {
	format, err := formatOf(f.file, f.format)
	if err != nil {
		return nil, nil, err
	}
	in, err := f.openInput(f.file, "a CSV, JSON or JSON lines file")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = in.done() }()
	rows, bad, err := importer.Read(in, format, f.raw)
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
	// A request for the usage costs nothing, and detects a wrong URL or key at once.
	// Otherwise, the client waits as long as needed: for the next minute, and for a service
	// that is being restarted.
	c, service, err := f.dial(*f.url)
	if err != nil {
		return err
	}
	usage, _, err := c.Usage(f.ctx(), client.WithRetries(2), client.WithMaxWait(2*time.Second))
	if err != nil {
		return f.verdict(explainAPI(err, service), "")
	}
	f.windows, f.begun = usage.Windows, f.now()
	var list []client.Category
	if f.mode.Update || !f.mode.Duplicates {
		if list, _, err = c.Categories.List(f.ctx()); err != nil {
			return f.verdict(explainAPI(err, service), "")
		}
	}
	f.warnOfIDs(rows)
	plan := importer.NewPlan(rows, list, f.mode)
	f.existing = plan.Existing
	err = f.carryOut(c, plan.Rows, append(bad, plan.Bad...))
	if printErr := f.report(err == nil && !f.dryRun, len(plan.Rows)); printErr != nil {
		return errors.Join(err, printErr)
	}
	_, day := f.estimate(len(plan.Rows))
	return f.verdict(explainAPI(err, service), day)
}

// warnOfIDs says that rows do not change the categories that their ids name: who exports a
// list, edits it and imports it would have the edited rows twice.
func (f *importCommand) warnOfIDs(rows []importer.Row) {
	hasID := func(row importer.Row) bool { return row.ID != "" }
	if !f.mode.Update && !*f.quiet && slices.ContainsFunc(rows, hasID) {
		_, _ = fmt.Fprintf(f.stderr, "petcat: the ids in %s are ignored; --update changes the categories that have them\n", printable(f.file))
	}
}

// carryOut sends rows, or only counts them, and shows the progress.
func (f *importCommand) carryOut(c *client.Client, rows []importer.Row, bad []importer.BadRow) error {
	bar, stop := f.startProgress(!f.asJSON && !*f.quiet && !f.dryRun, func(done int64, perSecond float64) string {
		return f.progress(c, done, int64(len(rows)), perSecond)
	})
	defer stop()
	refused := func(row importer.BadRow) {
		if f.refused = append(f.refused, row); !f.asJSON {
			bar.say(fmt.Sprintf("%s:%d: %s: %s", f.file, row.Line, row.Code, row.Message))
		}
	}
	for _, row := range bad {
		refused(row)
	}
	sent := func(row importer.Row) {
		bar.done.Add(1)
		if row.Update {
			f.updated++
		} else {
			f.created++
		}
	}
	if f.dryRun {
		for _, row := range rows {
			sent(row)
		}
		return nil
	}
	im := importer.Import{Refused: refused, Sent: sent, Send: func(ctx context.Context, row importer.Row, key string) error { return send(ctx, c, row, key) }}
	err := im.Run(f.ctx(), rows)
	slices.SortFunc(f.refused, func(a, b importer.BadRow) int { return a.Line - b.Line })
	return err
}

// send creates or updates the category of a row.
func send(ctx context.Context, c *client.Client, row importer.Row, key string) error {
	if !row.Update {
		_, _, err := c.Categories.Create(ctx, client.NewCategory{Name: row.Name, Description: row.Description}, client.WithIdempotencyKey(key))
		return err
	}
	id, err := parseCategoryID(row.ID)
	change := client.CategoryChange{Name: &row.Name}
	if !row.NoDescription {
		change.Description = &row.Description
	}
	if err == nil {
		_, _, err = c.Categories.Update(ctx, id, change)
	}
	return err
}

// progress says how far an import is and when it ends, such as: 50%, 500 of 1,000 rows
// sent, 20/s, 25s left.
func (f *importCommand) progress(c *client.Client, done, total int64, perSecond float64) string {
	wait, day := f.estimate(int(total))
	left := max(wait, time.Duration(float64(total-done)/max(perSecond, 1)*float64(time.Second)))
	end := left.Round(time.Second).String() + " left"
	if day != "" {
		end = "finished on " + day
	}
	if _, why := c.Paused(); why != nil { // the client holds requests back
		end += fmt.Sprintf(", waiting %s", why.RetryAfter)
	}
	return fmt.Sprintf("%3d%%, %s of %s rows sent, %.0f/s, %s", 100*done/max(total, 1), humanize.Comma(done), humanize.Comma(total), perSecond, end)
}

// estimate returns how long the import still takes by the quotas alone, if it began with that
// many requests to send, and the day of the last one if that is not the first day.
func (f *importCommand) estimate(requests int) (wait time.Duration, day string) {
	at, laterDay := importer.Finish(int64(requests), f.windows, f.begun)
	if laterDay {
		day = at.UTC().Format(time.DateOnly)
	}
	return max(at.Sub(f.now()), 0), day
}

// report prints the result. complete says that every row exists, except those that were
// refused.
func (f *importCommand) report(complete bool, planned int) error {
	if *f.quiet && !f.asJSON {
		return nil
	}
	refused := []record{}
	for _, row := range f.refused {
		refused = append(refused, record{{"line", row.Line}, {"code", row.Code}, {"message", row.Message}})
	}
	result := counted(f.created, "row", "rows") + map[bool]string{false: " created", true: " would be created"}[f.dryRun]
	if f.mode.Update {
		result += fmt.Sprintf(", %s updated", humanize.Comma(f.updated))
	}
	result += fmt.Sprintf(", %s existed already, %s refused.", humanize.Comma(f.existing), humanize.Comma(int64(len(refused))))
	if wait, day := f.estimate(planned); f.dryRun && day != "" {
		result += fmt.Sprintf(" By the quotas, the last row is sent on %s.", day)
	} else if f.dryRun && wait > 0 {
		result += fmt.Sprintf(" By the quotas, that takes %s.", wait.Round(time.Second))
	}
	return f.print(record{
		{"file", f.file},
		{"complete", complete},
		{"dry_run", f.dryRun},
		{"created", f.created},
		{"updated", f.updated},
		{"existing", f.existing},
		{"refused", refused},
	}, "%s: %s", f.file, result)
}

// verdict returns the error of the command. err is the error of its import, and day the day of
// the last row if that is not today.
func (f *importCommand) verdict(err error, day string) error {
	again := "the same command does what is left"
	if f.mode.Duplicates {
		again = "without --allow-duplicates, the same command does what is left"
	}
	later, _ := errors.AsType[*failure](err)
	switch {
	case later != nil && later.code == exitTryLater:
		if day != "" {
			again += fmt.Sprintf(", finished on %s if it is run every day", day)
		}
		return &failure{code: later.code, text: later.text + "; " + again, cause: err}
	case errors.Is(err, context.Canceled):
		return &failure{code: exitInterrupted, text: fmt.Sprintf("interrupted; %s sent; %s", counted(f.created+f.updated, "row was", "rows were"), again)}
	case err == nil && len(f.refused) > 0:
		return &failure{code: exitData, text: fmt.Sprintf("%s of %s refused; correct the file and run the command again",
			counted(int64(len(f.refused)), "row", "rows"), f.file)}
	default:
		return err
	}
}

func (p *program) categoryExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all categories into a file, or to stdout",
		Long: `Write all categories into a CSV, JSON or JSON lines file, or to stdout, as CSV unless
--format says otherwise. FILE appears when it is complete. petcat category import reads
it. Each 1,000 categories take one request. In CSV, an apostrophe keeps spreadsheets
from running a text as a formula; an import takes it away.`,
		Example: `  petcat category export categories.csv
  petcat category export --format jsonl | jq -r .name`,
	}
	completeFiles(cmd)
	url, quiet := urlFlag(cmd), quietFlag(cmd)
	var format string
	var raw bool
	formatFlags(cmd, &format, &raw)
	force := cmd.Flags().Bool("force", false, "replace FILE if it exists")
	return p.printing(cmd, func(c *call) error {
		defer interruptible(c.cmd)()
		path := dash
		if len(c.args) > 0 {
			path = c.args[0]
		}
		if path == dash && format == "" {
			format = string(importer.CSV)
		}
		written, err := formatOf(path, format)
		if err != nil {
			return err
		}
		api, service, err := c.dial(*url)
		if err != nil {
			return err
		}
		out, err := c.openOutput(path, *force, c.asJSON)
		if err != nil {
			return err
		}
		defer out.discard()
		bar, stop := c.startProgress(!c.asJSON && !*quiet && path != dash, func(done int64, perSecond float64) string {
			return fmt.Sprintf("%s exported, %.0f/s", counted(done, "category", "categories"), perSecond)
		})
		err = importer.Write(out, written, api.Categories.All(c.ctx(), client.PageOptions{}), raw, func() { bar.done.Add(1) })
		stop()
		if err == nil {
			err = out.keep()
		}
		switch {
		case err != nil:
			return explainAPI(err, service)
		case !c.asJSON && (*quiet || path == dash):
			return nil
		default:
			return c.print(record{{"file", path}, {"categories", bar.done.Load()}}, "%s exported to %s.", counted(bar.done.Load(), "category", "categories"), path)
		}
	})
}

// progress shows on a terminal how far a command is. Elsewhere it shows nothing.
type progress struct {
	to   io.Writer
	done atomic.Int64 // rows

	mu    sync.Mutex
	drawn bool // the line is on the terminal; guarded by mu
}

// startProgress begins to show what text says of the rows that are done, until it is stopped.
// If show is false, it shows only what say is told.
func (p *program) startProgress(show bool, text func(done int64, perSecond float64) string) (b *progress, stop func()) {
	b = &progress{to: p.stderr}
	if !show || !p.isTerminal(p.stderr) || slices.Contains(p.environ, "TERM=dumb") {
		return b, func() {}
	}
	begun, tick, stopped := p.clock.Read(), time.NewTicker(100*time.Millisecond), make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-tick.C:
				done := b.done.Load()
				b.write(text(done, float64(done)/max(p.clock.Read().Since(begun).Seconds(), 0.001)), "")
			case <-stopped:
				b.write("", "")
				return
			}
		}
	})
	return b, func() {
		tick.Stop()
		close(stopped)
		watcher.Wait()
	}
}

// say writes a line on stderr, above the progress.
func (b *progress) say(line string) { b.write("", printable(line)+"\n") }

// write replaces the progress by a text, after a line that stays.
func (b *progress) write(text, line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drawn && text == "" {
		line = "\r\x1b[K" + line
	}
	if b.drawn = text != ""; b.drawn {
		// Without automatic margins, a narrow terminal cuts the line, which could not be
		// redrawn otherwise.
		line += "\r\x1b[?7l" + text + "\x1b[K\x1b[?7h"
	}
	_, _ = io.WriteString(b.to, line)
}

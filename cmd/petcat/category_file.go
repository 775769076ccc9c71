package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"petcat/client"
	"petcat/internal/importer"
)

// importCommand has the flags and the argument of an import.
type importCommand struct {
	*call

	file, format    string
	allowDuplicates bool
	url             *string
	quiet           *bool
}

func (p *program) categoryImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Create the categories of a file that do not exist yet",
		Long: `Create the categories of a CSV, JSON or JSON lines file that do not exist yet. The
fields are name and description; an id is ignored. A CSV file begins with a line that
names its columns, a JSON file is one array of objects, and a JSON lines file has one
object a line.

The import reads the list of the service first, and skips the rows that the list has,
with the same name and description. So the same file creates nothing twice, even days
later. New rows in it are created, a row that occurs several times exists that often in
the end, and categories that were deleted since are created again. With
--allow-duplicates, every row is created.

The import obeys the limits of the account and goes on when the next minute begins. When
the quota of the day is used up, it ends with 75. It can be interrupted at any time, and
continued by the same command. Do not run two imports of one file at the same time.

A bad row is reported with its line and does not stop the others. Exit codes: 0 every
row exists, 2 the command is wrong, 65 some rows are bad or FILE is, 75 try again later
(the quota of the day is used up, or the service is away), 78 the URL or the key cannot
be used, 130 interrupted, 1 anything else.`,
		Example: `  petcat category import categories.csv
  zcat categories.jsonl.gz | petcat category import - --format jsonl`,
	}
	completeFiles(cmd)
	f := &importCommand{url: urlFlag(cmd), quiet: quietFlag(cmd)}
	formatFlag(cmd, &f.format)
	cmd.Flags().BoolVar(&f.allowDuplicates, "allow-duplicates", false, "create every row, even if the list has it")
	return p.printing(cmd, func(c *call) error {
		f.call, f.file = c, c.args[0]
		defer interruptible(c.cmd)()
		return f.run()
	})
}

// formatFlag adds --format to a command that reads or writes categories.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "", "`format`: csv, json (one array) or jsonl (one object a line); default by the ending of FILE")
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
	if !known {
		return "", usageErrorf("the ending of %s names no format; give --format csv, json or jsonl", path)
	}
	return f, nil
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
	rows, bad, err := importer.Read(in, format)
	if _, isFormat := errors.AsType[*importer.FormatError](err); isFormat {
		err = &failure{code: exitData, text: fmt.Sprintf("%s cannot be imported: %v", f.file, err), cause: err}
	} else if err != nil {
		err = fmt.Errorf("%s cannot be read: %w", f.file, reason(err))
	}
	return rows, bad, err
}

// importReport is the result of an import. Complete says that every row exists, except those
// that were refused.
type importReport struct {
	File     string        `json:"file"`
	Complete bool          `json:"complete"`
	Created  int64         `json:"created"`
	Existing int64         `json:"existing"` // the list had them
	Refused  []refusedJSON `json:"refused"`
	Seconds  float64       `json:"seconds"`
}

// refusedJSON is a row that was refused.
type refusedJSON struct {
	Line    int         `json:"line"`
	Code    client.Code `json:"code"` // of the API, or invalid_row if the row was not sent
	Message string      `json:"message"`
}

func (f *importCommand) run() error {
	rows, bad, err := f.read()
	if err != nil {
		return err
	}
	r := importReport{File: f.file, Refused: []refusedJSON{}}
	// A request for the usage costs nothing, and detects a wrong URL or key at once.
	impatient, service, err := f.dial(*f.url, client.WithRetries(2), client.WithMaxWait(2*time.Second))
	if err != nil {
		return err
	}
	if _, err := impatient.Usage(f.ctx()); err != nil {
		return f.verdict(explainAPI(err, service), r, "")
	}
	// Without options, the client waits as long as needed: for the next minute, and for a
	// service that is being restarted.
	c, service, err := f.dial(*f.url)
	if err != nil {
		return err
	}
	todo := rows
	if !f.allowDuplicates {
		list, err := c.Categories.List(f.ctx())
		if err != nil {
			return f.verdict(explainAPI(err, service), r, "")
		}
		todo = importer.Missing(rows, list)
		r.Existing = int64(len(rows) - len(todo))
	}
	err = f.create(f.ctx(), c, todo, bad, &r)
	if printErr := f.printReport(r); printErr != nil {
		return errors.Join(err, printErr)
	}
	_, day := f.estimate(c, int64(len(todo))-r.Created)
	return f.verdict(explainAPI(err, service), r, day)
}

// create creates rows, shows the progress, and completes the report.
func (f *importCommand) create(ctx context.Context, c *client.Client, todo []importer.Row, bad []importer.BadRow, r *importReport) error {
	bar := f.newProgress("created", !f.asJSON && !*f.quiet)
	refused := func(row importer.BadRow) {
		if r.Refused = append(r.Refused, refusedJSON(row)); !f.asJSON {
			bar.say(fmt.Sprintf("%s:%d: %s: %s", f.file, row.Line, row.Code, row.Message))
		}
	}
	for _, row := range bad {
		refused(row)
	}
	bar.atLeast = func(n int64) (time.Duration, string) { return f.estimate(c, n) }
	bar.note = func() string { return waiting(c) }
	begun := f.clock.Read()
	bar.begin(int64(len(todo)))
	stop := bar.watch()
	im := importer.Import{Create: c.Categories.Create, Refused: refused, Created: func() { r.Created++; bar.step() }}
	err := im.Run(ctx, todo)
	stop()
	bar.end()
	r.Complete, r.Seconds = err == nil, f.clock.Read().Since(begun).Seconds()
	slices.SortFunc(r.Refused, func(a, b refusedJSON) int { return a.Line - b.Line })
	return err
}

// estimate returns how long creates take by the quotas alone, and the day of the last one if
// the quota of today does not admit it.
func (f *importCommand) estimate(c *client.Client, left int64) (wait time.Duration, day string) {
	now := f.now()
	at, laterDay := importer.Finish(left, c.Limits().Windows, now)
	if laterDay {
		day = at.UTC().Format(time.DateOnly)
	}
	return at.Sub(now), day
}

func (f *importCommand) printReport(r importReport) error {
	if f.asJSON {
		return f.printJSON(r)
	}
	if *f.quiet {
		return nil
	}
	err := f.say("%s: %s created, %s existed already, %s refused.", r.File,
		counted(r.Created, "row", "rows"), humanize.Comma(r.Existing), humanize.Comma(int64(len(r.Refused))))
	if err != nil || r.Created == 0 {
		return err
	}
	return f.say("It took %.1f s, at %s/s.", r.Seconds, humanize.Comma(int64(float64(r.Created)/max(r.Seconds, 0.001))))
}

// verdict returns the error of the command. err is the error of its import, and day the day of
// the last row if that is not today.
func (f *importCommand) verdict(err error, r importReport, day string) error {
	again := "the same command creates what is left"
	if f.allowDuplicates {
		again = "without --allow-duplicates, the same command creates what is left"
	}
	if later, ok := errors.AsType[*failure](err); ok && later.code == exitTryLater {
		if day != "" {
			again += fmt.Sprintf(", finished on %s if it is run every day", day)
		}
		return &failure{code: later.code, text: later.text + "; " + again, cause: err}
	}
	if errors.Is(err, context.Canceled) {
		return &failure{code: exitInterrupted, text: fmt.Sprintf("interrupted; %s created; %s", counted(r.Created, "row was", "rows were"), again)}
	}
	if err != nil || len(r.Refused) == 0 {
		return err
	}
	were, them := "were", "them"
	if len(r.Refused) == 1 {
		were, them = "was", "it"
	}
	return &failure{code: exitData, text: fmt.Sprintf("%s of %s %s refused; correct %s and run the command again",
		counted(int64(len(r.Refused)), "row", "rows"), r.File, were, them)}
}

// waiting returns a note for the progress: for how long the client holds requests back, "" if
// it holds none back.
func waiting(c *client.Client) string {
	_, why := c.Held()
	if why == nil {
		return ""
	}
	return fmt.Sprintf(", waiting %s", why.RetryAfter)
}

func (p *program) categoryExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all categories into a file, or to stdout",
		Long: `Write all categories into a CSV, JSON or JSON lines file, or to stdout, as CSV unless
--format says otherwise. FILE appears when it is complete. petcat category import can
read it. The list is read in pages of 1,000. Each page is one request and counts against
the limits, which the command obeys.`,
		Example: `  petcat category export categories.csv
  petcat category export --format jsonl | jq -r .name`,
	}
	completeFiles(cmd)
	url, quiet := urlFlag(cmd), quietFlag(cmd)
	var format string
	formatFlag(cmd, &format)
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
		bar := c.newProgress("exported", !c.asJSON && !*quiet && path != dash)
		bar.begin(unknownTotal)
		err = importer.Write(out, written, api.Categories.All(c.ctx()), bar.step)
		bar.end()
		if err == nil {
			err = out.keep()
		}
		switch {
		case err != nil:
			return explainAPI(err, service)
		case !c.asJSON && (*quiet || path == dash):
			return nil
		default:
			return c.print(record{{"file", path}, {"categories", bar.done}}, "%s exported to %s.", counted(bar.done, "category", "categories"), path)
		}
	})
}

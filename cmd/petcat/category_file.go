package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	client "petcat/client"
	"petcat/internal/importer"
)

// importCommand is a run of an import.
type importCommand struct {
	*call

	file, format    string
	allowDuplicates bool
	url             *string
	quiet           *bool

	windows           []client.WindowUsage
	created, existing int64 // rows; the list had the existing ones
	refused           []importer.BadRow
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

func (f *importCommand) run() error {
	rows, bad, err := f.read()
	if err != nil {
		return err
	}
	// A request for the usage costs nothing, and detects a wrong URL or key at once.
	impatient, service, err := f.dial(*f.url, client.WithRetries(2), client.WithMaxWait(2*time.Second))
	if err != nil {
		return err
	}
	usage, _, err := impatient.Usage(f.ctx())
	if err != nil {
		return f.verdict(explainAPI(err, service), "")
	}
	// Without options, the client waits as long as needed: for the next minute, and for a
	// service that is being restarted.
	c, service, err := f.dial(*f.url)
	if err != nil {
		return err
	}
	f.windows = usage.Windows
	todo := rows
	if !f.allowDuplicates {
		list, _, err := c.Categories.List(f.ctx())
		if err != nil {
			return f.verdict(explainAPI(err, service), "")
		}
		todo = importer.Missing(rows, list)
		f.existing = int64(len(rows) - len(todo))
	}
	begun := f.clock.Read()
	err = f.create(c, todo, bad)
	if printErr := f.report(err == nil, f.clock.Read().Since(begun)); printErr != nil {
		return errors.Join(err, printErr)
	}
	_, day := f.estimate(c, int64(len(todo))-f.created)
	return f.verdict(explainAPI(err, service), day)
}

// create creates rows, and shows the progress.
func (f *importCommand) create(c *client.Client, todo []importer.Row, bad []importer.BadRow) error {
	bar, stop := f.startProgress(!f.asJSON && !*f.quiet, func(done int64, perSecond float64) string {
		return f.progress(c, done, int64(len(todo)), perSecond)
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
	create := func(ctx context.Context, n client.NewCategory, key string) error {
		_, _, err := c.Categories.Create(ctx, n, client.WithIdempotencyKey(key))
		return err
	}
	im := importer.Import{Create: create, Refused: refused, Created: func() { f.created = bar.done.Add(1) }}
	err := im.Run(f.ctx(), todo)
	slices.SortFunc(f.refused, func(a, b importer.BadRow) int { return a.Line - b.Line })
	return err
}

// progress says how far an import is and when it ends, such as: 50%, 500 of 1,000 rows
// created, 20/s, 25s left.
func (f *importCommand) progress(c *client.Client, done, total int64, perSecond float64) string {
	left, end := total-done, "? left"
	wait, day := f.estimate(c, left)
	if day != "" {
		end = "finished on " + day
	} else if done > 0 {
		end = max(wait, time.Duration(float64(left)/perSecond*float64(time.Second))).Round(time.Second).String() + " left"
	}
	if _, why := c.Paused(); why != nil { // the client holds requests back
		end += fmt.Sprintf(", waiting %s", why.RetryAfter)
	}
	return fmt.Sprintf("%3d%%, %s of %s rows created, %.0f/s, %s", 100*done/max(total, 1), humanize.Comma(done), humanize.Comma(total), perSecond, end)
}

// estimate returns how long creates take by the quotas alone, and the day of the last one if
// the quota of today does not admit it.
func (f *importCommand) estimate(c *client.Client, left int64) (wait time.Duration, day string) {
	now := f.now()
	at, laterDay := importer.Finish(left, f.windows, now)
	if laterDay {
		day = at.UTC().Format(time.DateOnly)
	}
	return at.Sub(now), day
}

// report prints the result. complete says that every row exists, except those that were
// refused.
func (f *importCommand) report(complete bool, took time.Duration) error {
	if *f.quiet && !f.asJSON {
		return nil
	}
	refused := []record{}
	for _, row := range f.refused {
		refused = append(refused, record{{"line", row.Line}, {"code", row.Code}, {"message", row.Message}})
	}
	return f.print(record{
		{"file", f.file}, {"complete", complete}, {"created", f.created}, {"existing", f.existing}, {"refused", refused}, {"seconds", took.Seconds()},
	}, "%s: %s created, %s existed already, %s refused.", f.file, counted(f.created, "row", "rows"),
		humanize.Comma(f.existing), humanize.Comma(int64(len(refused))))
}

// verdict returns the error of the command. err is the error of its import, and day the day of
// the last row if that is not today.
func (f *importCommand) verdict(err error, day string) error {
	again := "the same command creates what is left"
	if f.allowDuplicates {
		again = "without --allow-duplicates, the same command creates what is left"
	}
	later, _ := errors.AsType[*failure](err)
	switch {
	case later != nil && later.code == exitTryLater:
		if day != "" {
			again += fmt.Sprintf(", finished on %s if it is run every day", day)
		}
		return &failure{code: later.code, text: later.text + "; " + again, cause: err}
	case errors.Is(err, context.Canceled):
		return &failure{code: exitInterrupted, text: fmt.Sprintf("interrupted; %s created; %s", counted(f.created, "row was", "rows were"), again)}
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
		bar, stop := c.startProgress(!c.asJSON && !*quiet && path != dash, func(done int64, perSecond float64) string {
			return fmt.Sprintf("%s exported, %.0f/s", counted(done, "category", "categories"), perSecond)
		})
		err = importer.Write(out, written, api.Categories.All(c.ctx(), client.PageOptions{}), func() { bar.done.Add(1) })
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

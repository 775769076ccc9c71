package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"petcat/client"
	"petcat/internal/categoryfile"
	"petcat/internal/config"
	"petcat/internal/importer"
)

// journalEnding is appended to the name of a file to name its journal.
const journalEnding = ".petcat-journal"

// importFlags are the flags and the argument of an import.
type importFlags struct {
	*api

	file, format, journal string
	sameAccount           bool
	asJSON, quiet         *bool
}

func (p *program) categoryImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Create the categories of a file, each once",
		Long: `Create the categories of a CSV, JSON or JSON lines file, each once. The fields are
name and description; an id is ignored. A CSV file begins with a line that names its
columns, a JSON file is one array of objects, and a JSON lines file has one object a
line.

The import obeys the limits of the account and goes on when the next minute begins.
It can be interrupted at any time, and continued by the same command: the journal
beside the file, FILE` + journalEnding + `, records which rows exist. So the same file
creates nothing twice, even days later. New rows in it are created, and a row that
occurs several times is created that often. Keep the journal with the file.

A bad row is reported with its line and does not stop the others. Exit codes: 0 every
row exists, 2 the command is wrong or the journal is of another service or key, 65 some
rows are bad or FILE is, 75 try again later (the quota of the day is used up, the service
is away, or another import uses the journal), 78 the URL, the key or the journal cannot
be used, 130 interrupted, 1 anything else.`,
		Example: `  petcat category import categories.csv
  zcat categories.jsonl.gz | petcat category import - --format jsonl --journal categories.journal`,
		Args: arguments("FILE"),
	}
	completeFiles(cmd)
	f := &importFlags{api: p.apiFlags(cmd), asJSON: jsonFlag(cmd), quiet: quietFlag(cmd)}
	formatFlag(cmd, &f.format)
	cmd.Flags().StringVar(&f.journal, "journal", "", "`file` of the journal; default FILE"+journalEnding)
	cmd.Flags().BoolVar(&f.sameAccount, "same-account", false, "continue a journal that was begun with another URL or key: both are the same service and account")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.file = args[0]
		defer interruptible(cmd)()
		err := f.run(cmd.Context())
		if errors.Is(err, context.Canceled) {
			return &failure{code: exitInterrupted, text: "interrupted; continue with the same command: it creates nothing twice"}
		}
		return err
	}
	return cmd
}

// formatFlag adds --format to a command that reads or writes categories.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "", "`format`: csv, json (one array) or jsonl (one object a line); default by the ending of FILE")
	var names []string
	for _, f := range categoryfile.Formats() {
		names = append(names, string(f))
	}
	complete(cmd, "format", names)
}

// formatOf returns the format of a file.
func formatOf(path, flag string) (categoryfile.Format, error) {
	if flag != "" {
		f, err := categoryfile.ParseFormat(flag)
		return f, usage(err)
	}
	f, known := categoryfile.FormatOf(path)
	if !known {
		return "", usageErrorf("the ending of %s names no format; give --format csv, json or jsonl", path)
	}
	return f, nil
}

// run checks the arguments, the key and the journal before it creates anything.
func (f *importFlags) run(ctx context.Context) error {
	format, err := formatOf(f.file, f.format)
	switch {
	case err != nil:
		return err
	case f.journal == "" && f.file == dash:
		return usageErrorf("there is no file beside which the journal could be; name it with --journal")
	case f.journal == "":
		f.journal = f.file + journalEnding
	}
	// Without options, the client waits as long as needed: for the next minute, and for a
	// service that is being restarted.
	c, service, err := f.dial()
	if err != nil {
		return err
	}
	in, err := f.program.openInput(f.file, "a CSV, JSON or JSON lines file")
	if err != nil {
		return err
	}
	defer func() { _ = in.done() }()
	// A request for the usage costs nothing. It detects a wrong URL or key before a
	// journal is created for it.
	if err := f.call(ctx, func(ctx context.Context, c *client.Client) error {
		_, err := c.Usage(ctx)
		return err
	}); err != nil {
		return err
	}
	journal, err := importer.OpenJournal(f.journal, importer.NewOwner(service.URL, service.Key.Reveal()), f.sameAccount)
	if err != nil {
		return f.explainJournal(err, service)
	}
	defer func() { _ = journal.Close() }() // its lines are already on disk
	rows := func() iter.Seq2[categoryfile.Row, error] { return f.rows(in, format) }
	total := int64(unknownTotal)
	if in.file != nil {
		todo, err := importer.Count(rows(), journal)
		if err != nil {
			return err
		}
		total = int64(todo)
		if _, err := in.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read %s again: %w", in.name, err)
		}
	}
	return f.program.importRows(ctx, f, c, service, &importer.Import{Rows: rows(), Journal: journal, Service: c.Categories}, total)
}

// rows returns the rows of a file. An error that ends it early names the file.
func (f *importFlags) rows(in *input, format categoryfile.Format) iter.Seq2[categoryfile.Row, error] {
	return func(yield func(categoryfile.Row, error) bool) {
		for row, err := range categoryfile.Rows(in, format) {
			_, bad := errors.AsType[*categoryfile.RowError](err)
			if err != nil && !bad {
				err = unreadable(in.name, err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func unreadable(name string, err error) error {
	if _, system := errors.AsType[*fs.PathError](err); system {
		return fmt.Errorf("%s cannot be read: %w", name, reason(err))
	}
	return &failure{code: exitData, text: fmt.Sprintf("%s cannot be imported: %v", name, err), cause: err}
}

// explainJournal turns an error of opening the journal into one that says what to do.
func (f *importFlags) explainJournal(err error, service config.Service) error {
	switch {
	case errors.Is(err, importer.ErrInUse):
		return tryLaterf("another import uses the journal %s; wait until it ends", f.journal)
	case errors.Is(err, importer.ErrOtherService):
		return usageErrorf("%s: %v, not %s; give that one with --url, name another journal with --journal, or pass --same-account if it is the same service", f.journal, err, service.URL)
	case errors.Is(err, importer.ErrOtherKey):
		return usageErrorf("%s: %v; use that key, name another journal with --journal, or pass --same-account if both keys are of one account", f.journal, err)
	case errors.Is(err, importer.ErrNoJournal):
		return config.Errorf("%s: %v; name another file with --journal", f.journal, err)
	default:
		return fmt.Errorf("the journal %s cannot be used: %w; name another file with --journal", f.journal, reason(err))
	}
}

// importRows runs the import, shows its progress, and prints its report.
func (p *program) importRows(ctx context.Context, f *importFlags, c *client.Client, service config.Service, im *importer.Import, total int64) error {
	bar := p.newProgress("created", !*f.asJSON && !*f.quiet)
	bar.note = func() string { return waiting(c) }
	r := importReport{File: f.file, Journal: f.journal, Refused: []refusalJSON{}}
	im.Now, im.Created = p.now, bar.step
	im.Refused = func(why importer.Refusal) {
		if *f.asJSON {
			r.Refused = append(r.Refused, refusalJSON{why.Line, why.Code, why.Message})
			return
		}
		bar.say(fmt.Sprintf("%s:%d: %s: %s", f.file, why.Line, why.Code, why.Message))
	}
	begun := p.clock.Read()
	bar.begin(total)
	stop := bar.watch()
	result, err := im.Run(ctx)
	stop()
	bar.end()
	r.Created, r.Existing, r.Found, r.refused = result.Created, result.Existing, result.Found, result.Refused
	r.Complete, r.Seconds = err == nil, p.clock.Read().Since(begun).Seconds()
	slices.SortFunc(r.Refused, func(a, b refusalJSON) int { return a.Line - b.Line })
	if printErr := p.printImport(r, *f.asJSON, *f.quiet); printErr != nil {
		return errors.Join(err, printErr)
	}
	return r.verdict(explainAPI(err, service))
}

// waiting returns a note for the progress: for how long the client holds requests back, and
// the code of the answer that they would get. It is "" if the client holds none back.
func waiting(c *client.Client) string {
	_, why := c.Held()
	if why == nil {
		return ""
	}
	return fmt.Sprintf(", waiting %s (%s)", why.RetryAfter, why.Code)
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petcat/internal/backup"
)

func (p *program) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify [FILE]",
		Short:   "Check the data, or a backup, for damage",
		GroupID: groupKeep,
		Long: `Check the data, while the service runs, or a backup for damage: a file that is
truncated or altered, ids that would be assigned twice, rows that refer to nothing,
audit log entries that were changed, removed or moved, and, for an embedded database,
damage to the file itself. Every row is read. With - the backup is read from stdin.

Prints one line per fault, and then exits with 1.`,
		Args: arguments("[FILE]"),
	}
	completeFiles(cmd)
	registerStoreFlags(cmd)
	asJSON, quiet := jsonFlag(cmd), quietFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer interruptible(cmd)()
		bar := p.newProgress("checked", !*asJSON && !*quiet)
		begun := p.clock.Read()
		r := report{verb: "Checked", done: "in place"}
		var err error
		if len(args) == 1 {
			r.File, r.done = args[0], "from "+args[0]
			err = p.verifyFile(cmd.Context(), args[0], bar, &r)
		} else {
			err = p.withStore(cmd, func(ctx context.Context, st store) error { return verifyStore(ctx, st, bar, &r) })
		}
		if err != nil {
			return err
		}
		r.Seconds = p.clock.Read().Since(begun).Seconds()
		if err := p.printReport(p.stdout, r, *asJSON, *quiet); err != nil {
			return err
		}
		return p.printFindings(*r.Findings, *asJSON, *quiet)
	}
	return cmd
}

func (p *program) verifyFile(ctx context.Context, path string, bar *progress, r *report) error {
	in, err := p.openInput(path, backupFile)
	if err != nil {
		return err
	}
	defer func() { _ = in.done() }()
	var c backup.Checker
	if r.Size, err = p.readInto(ctx, in, bar, &c, false); err != nil {
		return fileError(path, err)
	}
	r.found(c.Header(), c.Findings())
	return nil
}

// verifyStore checks every row that a backup would contain, and has the database check
// itself.
func verifyStore(ctx context.Context, st archive, bar *progress, r *report) error {
	damage, err := st.Integrity(ctx)
	if err != nil {
		return err
	}
	var c backup.Checker
	err = st.Backup(ctx, &progressSink{Sink: &c, bar: bar})
	bar.end()
	switch {
	case err == nil:
		r.found(c.Header(), append(damage, c.Findings()...))
		return nil
	case len(damage) > 0: // the damage is the reason for err
		r.found(c.Header(), append(damage, "not every row can be read: "+explain(err)))
		return nil
	default:
		return err
	}
}

// found adds the header and the findings of a check to the report.
func (r *report) found(h backup.Header, findings []string) {
	r.Header = h
	if findings == nil {
		findings = []string{}
	}
	r.Findings = &findings
}

// printFindings prints the findings, and returns an error if there are any.
func (p *program) printFindings(findings []string, asJSON, quiet bool) error {
	if len(findings) == 0 {
		if asJSON || quiet {
			return nil
		}
		return p.sayParagraph("No faults.")
	}
	for _, finding := range findings {
		if asJSON {
			break
		}
		if err := p.say("fault: %s", finding); err != nil {
			return err
		}
	}
	return &failure{code: exitFailed, text: fmt.Sprintf("faults were found: %d; keep a copy of everything, find out who or what caused them, and restore a backup from before", len(findings))}
}

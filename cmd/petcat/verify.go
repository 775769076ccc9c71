package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
)

func (p *program) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify [FILE]",
		Short:   "Check the data, or a backup, for damage",
		GroupID: groupKeep,
		Long: `Check a backup for damage: rows that have changed since it was made, damage to the
file, rows that refer to nothing, and audit log entries that were changed, removed or
moved. Without FILE, check the data while the service runs: the audit log and, on
SQLite, the file and its references. With - the backup is read from stdin.

Prints one line per fault, and then exits with 1.`,
		Args: arguments("[FILE]"),
	}
	completeFiles(cmd)
	registerStoreFlags(cmd)
	asJSON, quiet := jsonFlag(cmd), quietFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer interruptible(cmd)()
		if len(args) == 0 {
			return p.withStore(cmd, func(ctx context.Context, st store) error {
				findings, err := verifyStore(ctx, st)
				if err != nil {
					return err
				}
				if *asJSON {
					err = p.printJSON(inPlace{st.Environment(), st.Dataset(), findings})
				}
				if err != nil {
					return err
				}
				return p.printFindings(findings, *asJSON, *quiet)
			})
		}
		begun := p.clock.Read()
		path, done, err := p.openBackup(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer done()
		i, findings, err := backup.Verify(cmd.Context(), path)
		if err != nil {
			return backupError(args[0], err)
		}
		findings = append([]string{}, findings...)
		r := report{
			Info: i, File: args[0], Findings: &findings, Seconds: p.clock.Read().Since(begun).Seconds(),
			verb: "Checked", done: "from " + args[0],
		}
		if err := p.printReport(p.stdout, r, *asJSON, *quiet || i.TakenAt.IsZero()); err != nil {
			return err
		}
		return p.printFindings(findings, *asJSON, *quiet)
	}
	return cmd
}

// inPlace is the result of a check of the data in place.
type inPlace struct {
	Environment petcat.Environment `json:"environment"`
	Dataset     string             `json:"dataset"`
	Findings    []string           `json:"findings"`
}

// verifyStore checks the data in place.
func verifyStore(ctx context.Context, st store) (findings []string, err error) {
	findings, err = st.Integrity(ctx)
	if err != nil {
		return nil, err
	}
	var check petcat.AuditCheck
	err = st.EachAuditEntry(ctx, petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
		check.Add(e)
		return nil
	})
	if err != nil && len(findings) == 0 {
		return nil, err
	}
	return append(append([]string{}, findings...), backup.AuditFindings(&check)...), nil
}

// printFindings prints the findings, and returns an error if there are any.
func (p *program) printFindings(findings []string, asJSON, quiet bool) error {
	if len(findings) == 0 {
		if asJSON || quiet {
			return nil
		}
		return p.say("No faults.")
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

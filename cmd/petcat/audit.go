package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) auditCommand() *cobra.Command {
	list := p.managing(&cobra.Command{
		Use:   "list",
		Short: "List recent entries of the audit log, oldest first",
		Example: `  petcat audit list --account acme --since 7d
  petcat audit list --limit 20 --json`,
	}, listAudit)
	list.Flags().String("account", "", "list only entries about this `account`, by name or id, and its keys")
	list.Flags().String("key", "", "list only entries about the key with this `id`")
	list.Flags().String("actor", "",
		"list only entries of this `actor`, such as cli:ann, 'operator ada', or petcat for the service itself")
	list.Flags().String("since", "",
		"list only entries since this `time`: a duration ago (7d), a day (2026-11-21, from 00:00 UTC), or an "+
			"instant (RFC 3339)")
	numberFlag(list, "limit", 100, "list at most this number of the newest entries; 0 for all")
	verify := p.managing(&cobra.Command{
		Use:   "verify",
		Short: "Check that no audit log entry was changed, removed or moved",
		Long: `Check the hash chain of the audit log. If an entry was changed, removed or
moved, print the first fault and exit with 1.

To also detect missing newest entries or a rebuilt chain, pass a saved head with
--head: the number and hash of what was the last entry. This command prints it,
and each server logs it at startup and daily. Save it where users with write
access to the database cannot change it.`,
		Example: `  petcat audit verify
  petcat audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
	}, verifyAudit)
	verify.Flags().StringArray("head", nil, "check that the log contains this saved `head`; may be repeated")
	return parent(&cobra.Command{
		Use:   "audit",
		Short: "Read and check the audit log",
		Long: `Read and check the audit log of management changes. Each entry has a hash of
itself and of the previous entry.`,
	}, list, verify)
}

func listAudit(c *call) (err error) {
	q := petcat.AuditQuery{Actor: petcat.Actor(c.text("actor")), Newest: int(c.number("limit"))}
	if c.given("key") {
		if q.Key, err = parseKeyID(c.text("key")); err != nil {
			return err
		}
	}
	if q.Since, err = c.time("since", c.ago); err != nil {
		return err
	}
	if c.given("account") {
		a, err := c.account(c.text("account"))
		if err != nil {
			return err
		}
		q.Account = a.ID
	}
	entries, err := collect(func(fn func(petcat.AuditEntry) error) error {
		return c.store.EachAuditEntry(c.ctx(), q, fn)
	})
	if err != nil {
		return err
	}
	return c.list(records(c, entries), "sequence at actor action subject detail", "No matching audit entries.")
}

func verifyAudit(c *call) error {
	kept, _ := c.cmd.Flags().GetStringArray("head")
	var check petcat.AuditCheck
	for _, s := range kept {
		head, err := petcat.ParseAuditHead(s)
		if err != nil {
			return usageErrorf("--head: %s", explain(err))
		}
		check.Expect(head)
	}
	findings, entries, err := c.checkAudit(&check)
	if err != nil {
		return err
	}
	head := check.Head()
	return c.printFindings(
		representation.AuditReport(entries, head),
		fmt.Sprintf("Checked %s of the audit log; its head is %s.", counted(entries, "entry", "entries"), head),
		findings,
	)
}

// checkAudit adds the whole audit log to check. It returns the fault, if any, and the number of
// entries.
func (c *call) checkAudit(check *petcat.AuditCheck) (findings []string, entries int64, err error) {
	err = c.store.EachAuditEntry(c.ctx(), petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
		entries++
		check.Add(e)
		return nil
	})
	if fault := check.Fault(); fault != "" {
		findings = append(findings, fault)
	}
	return findings, entries, err
}

// printFindings prints a report and its findings, and returns an error if there are any. Without
// --json, it prints sentence instead of the report.
func (c *call) printFindings(report record, sentence string, findings []string) error {
	lines := []string{sentence}
	for _, finding := range findings {
		lines = append(lines, "fault: "+finding)
	}
	if len(findings) == 0 {
		lines = append(lines, "No faults.")
	}
	var err error
	if c.asJSON {
		err = c.printJSON(append(report, kv("findings", findings)))
	} else if len(findings) > 0 || !c.is("quiet") {
		for _, line := range lines {
			err = cmp.Or(err, c.say("%s", line))
		}
	}
	if err == nil && len(findings) > 0 {
		err = fmt.Errorf(
			"faults found: %d; keep a copy of all data, find the cause, and restore an earlier backup", len(findings))
	}
	return err
}

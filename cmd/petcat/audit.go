package main

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"petcat"
)

func (p *program) auditCommand() *cobra.Command {
	list := p.managing(&cobra.Command{
		Use:   "list",
		Short: "List the newest entries of the audit log, oldest first",
		Example: `  petcat audit list --account acme --since 7d
  petcat audit list --limit 20 --json`,
	}, listAudit)
	list.Flags().String("account", "", "only entries about this `account`, by name or id, and about its keys")
	list.Flags().String("key", "", "only entries about the key with this `id`")
	list.Flags().String("actor", "", "only entries about what this `actor` did, such as cli:ann, 'operator ada' of the console, or petcat for the service itself")
	list.Flags().String("since", "", "only entries from this `time` on: a time ago (7d), a day (2026-11-21, from its beginning in UTC), or an instant (RFC 3339)")
	list.Flags().Uint32("limit", 100, "only so many of the newest entries; 0 for all")
	verify := p.managing(&cobra.Command{
		Use:   "verify",
		Short: "Check that no audit log entry was changed, removed or moved",
		Long: `Check by the chain of hashes that no audit log entry was changed, removed or moved. If
one was, print the first fault, and exit with 1.

The chain cannot show that the newest entries are missing, or that somebody rebuilt all
of it. The head, which is the number and the hash of the last entry, can: this command
prints it, and each server logs it when it starts and once a day. Keep it where nobody
who can write the database can change it, and give it with --head.`,
		Example: `  petcat audit verify
  petcat audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
	}, verifyAudit)
	verify.Flags().StringArray("head", nil, "a `head` that was kept, as the log of a server shows it; may be repeated")
	return parent(&cobra.Command{
		Use:   "audit",
		Short: "Read and check the audit log",
		Long: `Read and check the audit log: who changed what, and when. Each entry carries a hash of
itself and of the entry before it.`,
	}, list, verify)
}

func listAudit(c *call) (err error) {
	limit, _ := c.cmd.Flags().GetUint32("limit")
	q := petcat.AuditQuery{Actor: petcat.Actor(c.text("actor")), Newest: int(limit)}
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
	entries, err := collect(func(fn func(petcat.AuditEntry) error) error { return c.EachAuditEntry(c.ctx(), q, fn) })
	if err != nil {
		return err
	}
	return c.list(records(c, entries), "sequence at actor action subject detail", "The audit log has no such entries.")
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
	report := record{kv("entries", entries), kv("head", head), kv("last_sequence", head.Sequence), kv("last_hash", hex.EncodeToString(head.Hash[:]))}
	return c.printFindings(report, fmt.Sprintf("Checked %s of the audit log; its head is %s.", counted(entries, "entry", "entries"), head), findings)
}

// checkAudit lets check see the whole audit log, and returns its fault, if any, and how many
// entries there are.
func (c *call) checkAudit(check *petcat.AuditCheck) (findings []string, entries int64, err error) {
	err = c.EachAuditEntry(c.ctx(), petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
		entries++
		check.Add(e)
		return nil
	})
	if fault := check.Fault(); fault != "" {
		findings = append(findings, fault)
	}
	return findings, entries, err
}

// printFindings prints a report with the faults that were found, and returns an error if there
// are any. sentence stands for the report without --json.
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
		err = fmt.Errorf("faults were found: %d; keep a copy of everything, find out who or what caused them, and restore a backup from before", len(findings))
	}
	return err
}

package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"petcat"
)

func (p *program) auditCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "audit",
		Short:   "Read and check the audit log",
		GroupID: groupManage,
		Long: `Read and check the audit log: who changed what, and when. Each entry carries a hash of
itself and of the entry before it.`,
	}, p.auditListCommand(), p.auditVerifyCommand())
}

func (p *program) auditListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the entries of the audit log, oldest first",
		Example: `  petcat audit list --account acme --since 7d
  petcat audit list --limit 20 --json`,
	}
	account := cmd.Flags().String("account", "", "only entries about this `account`, by name or id, and about its keys")
	key := cmd.Flags().String("key", "", "only entries about the key with this `id`")
	actor := cmd.Flags().String("actor", "", "only entries about what this `actor` did, such as cli:ann, 'operator ada' of the console, or petcat for the service itself")
	since := cmd.Flags().String("since", "", "only entries from this `time` on: a time ago (7d), a day (2026-11-21, from its beginning in UTC), or an instant (RFC 3339)")
	limit := cmd.Flags().Uint32("limit", 0, "only so many of the newest entries; 0 for all")
	return p.managing(cmd, func(c *call) (err error) {
		q := petcat.AuditQuery{Actor: petcat.Actor(*actor), Newest: int(*limit)}
		if c.cmd.Flags().Changed("key") {
			if q.Key, err = parseKeyID(*key); err != nil {
				return err
			}
		}
		if c.cmd.Flags().Changed("since") {
			if q.Since, err = parseTime(*since, c.ago); err != nil {
				return usageErrorf("--since %v", err)
			}
		}
		if err := c.read(); err != nil {
			return err
		}
		if c.cmd.Flags().Changed("account") {
			a, err := c.account(*account)
			if err != nil {
				return err
			}
			q.Account = a.ID
		}
		return c.listAudit(q)
	})
}

// listAudit prints each entry when it is read, because there may be very many. So the columns
// have fixed widths.
func (c *call) listAudit(q petcat.AuditQuery) error {
	const columns = "%8s  %-24s  %-16s  %-16s  %-16s  %s"
	w := bufio.NewWriter(c.stdout)
	e := jsontext.NewEncoder(w, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	line := func(cells ...any) error {
		_, err := fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf(columns, cells...), " "))
		return err
	}
	if c.asJSON {
		if err := e.WriteToken(jsontext.BeginArray); err != nil {
			return written(err)
		}
	}
	n := 0
	err := c.EachAuditEntry(c.ctx(), q, func(entry petcat.AuditEntry) error {
		if n++; c.asJSON {
			return written(json.MarshalEncode(e, auditRecord(entry)))
		}
		if n == 1 {
			if err := line("SEQUENCE", "AT", "ACTOR", "ACTION", "SUBJECT", "DETAIL"); err != nil {
				return written(err)
			}
		}
		return written(line(fmt.Sprint(entry.Sequence), milliseconds(entry.At), printable(string(entry.Actor)),
			printable(entry.Action), printable(entry.Subject), printable(entry.Detail)))
	})
	switch {
	case err != nil:
		return err
	case c.asJSON:
		err = e.WriteToken(jsontext.EndArray)
	case n == 0:
		return c.say("The audit log has no such entries.")
	}
	return written(errors.Join(err, w.Flush()))
}

func auditRecord(e petcat.AuditEntry) record {
	var detail any = jsontext.Value(e.Detail)
	if !jsontext.Value(e.Detail).IsValid() { // only if somebody altered the entry
		detail = e.Detail
	}
	return record{
		{"sequence", e.Sequence},
		{"at", milliseconds(e.At)},
		{"actor", e.Actor},
		{"action", e.Action},
		{"subject", e.Subject},
		{"detail", detail},
		{"hash", hex.EncodeToString(e.Hash[:])},
	}
}

func (p *program) auditVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that no audit log entry was changed, removed or moved",
		Long: `Check by the chain of hashes that no audit log entry was changed, removed or moved.
Prints the first fault, and then exits with 1.

The chain alone cannot show that the newest entries are missing, or that somebody who
can write the database rebuilt the whole chain. The head can: the sequence number and
the hash of the last entry. This command prints it, and each server writes it to its log
when it starts and once a day. Keep those lines where nobody who can write the database
can change them, and give their heads with --head.`,
		Example: `  petcat audit verify
  petcat audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
	}
	kept := cmd.Flags().StringArray("head", nil, "a `head` that was kept, as the log of a server shows it; may be repeated")
	return p.managing(cmd, func(c *call) error {
		var check petcat.AuditCheck
		for _, s := range *kept {
			head, err := petcat.ParseAuditHead(s)
			if err != nil {
				return usageErrorf("--head: %s", explain(err))
			}
			check.Expect(head)
		}
		if err := c.read(); err != nil {
			return err
		}
		entries, err := c.checkAudit(&check)
		if err != nil {
			return err
		}
		findings, head := []string{}, check.Head()
		if fault := check.Fault(); fault != "" {
			findings = append(findings, fault)
		}
		err = c.print(record{
			{"entries", entries},
			{"head", head},
			{"last_sequence", head.Sequence},
			{"last_hash", hex.EncodeToString(head.Hash[:])},
			{"findings", findings},
		}, "Checked %s of the audit log; its head is %s.", counted(entries, "entry", "entries"), head)
		if err != nil {
			return err
		}
		return c.printFindings(findings, false)
	})
}

// checkAudit lets check see the whole audit log, and returns how many entries it has.
func (c *call) checkAudit(check *petcat.AuditCheck) (entries int64, err error) {
	err = c.EachAuditEntry(c.ctx(), petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
		entries++
		check.Add(e)
		return nil
	})
	return entries, err
}

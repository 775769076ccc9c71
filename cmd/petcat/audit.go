package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/config"
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
		Args: arguments(),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	account := cmd.Flags().String("account", "", "only entries about this `account`, by name or id, and about its keys")
	key := cmd.Flags().String("key", "", "only entries about the key with this `id`")
	actor := cmd.Flags().String("actor", "", "only entries about what this `actor` did, such as cli:ann, 'operator ada' of the console, or petcat for the service itself")
	since := cmd.Flags().String("since", "", "only entries from this `time` on: a time ago (7d), a day (2026-11-21, from its beginning in UTC), or an instant (RFC 3339)")
	limit := cmd.Flags().Uint32("limit", 0, "only so many of the newest entries; 0 for all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := petcat.AuditQuery{Actor: petcat.Actor(*actor), Newest: int(*limit)}
		var err error
		if cmd.Flags().Changed("key") {
			if q.Key, err = parseKeyID(*key); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("since") {
			if q.Since, err = parseSince(*since, p.now()); err != nil {
				return usageErrorf("--since %v", err)
			}
		}
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			if cmd.Flags().Changed("account") {
				a, err := findAccount(ctx, st, *account)
				if err != nil {
					return err
				}
				q.Account = a.ID
			}
			return p.printAudit(*asJSON, func(fn func(petcat.AuditEntry) error) error {
				return st.EachAuditEntry(ctx, q, fn)
			})
		})
	}
	return cmd
}

func (p *program) auditVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that no audit log entry was changed, removed or moved",
		Long: `Check by the chain of hashes that no audit log entry was changed, removed or moved.
Prints one line per fault, and then exits with 1.

The chain alone cannot show that the newest entries are missing, or that somebody who
can write the database rebuilt the whole chain. The head can: the sequence number and
the hash of the last entry. This command prints it, and each server writes it to its log
when it starts and once a day. Keep those lines where nobody who can write the database
can change them, and give their heads with --head.`,
		Example: `  petcat audit verify
  petcat audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
		Args: arguments(),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	kept := cmd.Flags().StringArray("head", nil, "a `head` that was kept, as the log of a server shows it; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var check petcat.AuditCheck
		for _, s := range *kept {
			head, err := petcat.ParseAuditHead(s)
			if err != nil {
				return usageErrorf("--head: %s", explain(err))
			}
			check.Expect(head)
		}
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			r := auditReport{Findings: []string{}}
			err := st.EachAuditEntry(ctx, petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
				r.Entries++
				check.Add(e)
				return nil
			})
			if err != nil {
				return err
			}
			r.Findings = append(r.Findings, backup.AuditFindings(&check)...)
			return p.printAuditReport(r, check.Head(), *asJSON)
		})
	}
	return cmd
}

// parseSince reads a time that the user typed at now: a duration ago (7d), the beginning of
// a day in UTC, or an instant (RFC 3339).
func parseSince(s string, now time.Time) (time.Time, error) {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	ago, err := config.ParseDuration(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a duration such as 7d, a day such as 2026-11-21, or a time such as 2026-11-21T18:00:00Z (got %q)", s)
	}
	return now.Add(-ago), nil
}

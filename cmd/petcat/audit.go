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
		Long: `Read and check the audit log: who changed which account, key or ban, and when. Each
entry carries a hash of itself and of the entry before it.`,
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
	since := cmd.Flags().String("since", "", "only entries from this `time` on: a time ago (7d), a day (2026-11-21, from its beginning in UTC), or an instant (RFC 3339)")
	limit := cmd.Flags().Uint32("limit", 0, "only so many of the newest entries; 0 for all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := petcat.AuditQuery{Newest: int(*limit)}
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
				a, err := st.FindAccount(ctx, *account)
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
		Short: "Check that no audit log entry was changed or removed",
		Long: `Check by the chain of hashes that no audit log entry was changed or removed.
Prints one line per fault, and then exits with 1.

The chain cannot show that the newest entries were cut off, or that somebody rewrote
all of it. To detect that, keep the last sequence number and hash that this command
prints somewhere else, and compare them with petcat audit list --json.`,
		Args: arguments(),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			var chain petcat.AuditChain
			var findings backup.Findings
			r := auditReport{Findings: []string{}}
			err := st.EachAuditEntry(ctx, petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
				r.Entries++
				findings.Add(chain.Check(e)...)
				return nil
			})
			if err != nil {
				return err
			}
			r.LastSequence, r.LastHash = chain.Sequence, fmt.Sprintf("%x", chain.Hash)
			r.Findings = append(r.Findings, findings.All()...)
			return p.printAuditReport(r, *asJSON)
		})
	}
	return cmd
}

// parseSince reads a moment in the past, as somebody typed it at now: a length of
// time ago (7d), the beginning of a day in UTC, or an instant (RFC 3339).
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

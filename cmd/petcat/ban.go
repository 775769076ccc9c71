package main

import (
	"github.com/spf13/cobra"

	"petcat"
)

func (p *program) banCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "ban",
		Short:   "List and lift the bans of keys",
		GroupID: groupManage,
		Long: `List and lift bans. A key is banned for a while if its client keeps sending
requests that are refused. petcat serve --bans sets whether bans are enforced.`,
	}, p.banListCommand(), p.banLiftCommand())
}

func (p *program) banRecord(b petcat.Ban) record {
	return record{
		{"key", b.Key},
		{"account", b.Account},
		{"state", b.State(p.now())},
		{"level", b.Level},
		{"started_at", b.StartedAt},
		{"ends_at", shown{b.EndsAt, timestamp(b.End())}},
		{"early_retries", b.EarlyRetries},
		{"lifted_at", b.LiftedAt},
		{"lifted_by", orNone(b.LiftedBy)},
	}
}

func (p *program) banListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the bans in force"}
	all := cmd.Flags().Bool("all", false, "list the last ban of every key, ended and lifted ones too")
	return p.managing(cmd, func(c *call) error {
		none := "No key is banned."
		if *all {
			none = "No key was ever banned."
		}
		return listAll(c, store.EachBan, func(b petcat.Ban) record {
			if state := b.State(c.now()); !*all && (state == petcat.BanLifted || state == petcat.BanEnded) {
				return nil
			}
			return c.banRecord(b)
		}, "key account state level started_at ends_at early_retries", none)
	})
}

func (p *program) banLiftCommand() *cobra.Command {
	return p.changing(&cobra.Command{Use: "lift KEY_ID", Short: "End the ban of a key now"}, func(c *call) error {
		b, err := c.LiftBan(c.ctx(), actor(), c.keyID())
		return c.done(notFound(err, "list the bans with: petcat ban list"), c.banRecord(b), "The ban of %s is lifted.", b.Key)
	})
}

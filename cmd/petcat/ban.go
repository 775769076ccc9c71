package main

import (
	"context"
	"strconv"
	"time"

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

// banJSON is a ban as --json prints it.
type banJSON struct {
	Key          string          `json:"key"`
	Account      string          `json:"account"`
	State        petcat.BanState `json:"state"`
	Level        int             `json:"level"`
	StartedAt    string          `json:"started_at"`
	EndsAt       string          `json:"ends_at"`
	EarlyRetries int             `json:"early_retries"`
	LiftedAt     *string         `json:"lifted_at"`
	LiftedBy     *string         `json:"lifted_by"`
}

func banDocument(b petcat.Ban, now time.Time) banJSON {
	return banJSON{
		Key: b.Key.String(), Account: b.Account.String(), State: b.State(now), Level: b.Level,
		StartedAt: timestamp(b.StartedAt), EndsAt: timestamp(b.EndsAt), EarlyRetries: b.EarlyRetries,
		LiftedAt: nullableTime(b.LiftedAt), LiftedBy: nullable(string(b.LiftedBy)),
	}
}

func (p *program) banListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the bans in force",
		Args:  arguments(),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	all := cmd.Flags().Bool("all", false, "list the last ban of every key, ended and lifted ones too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			now := p.now()
			l := list{header: []string{"KEY", "ACCOUNT", "STATE", "LEVEL", "STARTED", "ENDS", "EARLY RETRIES"}}
			err := st.EachBan(ctx, func(b petcat.Ban) error {
				state := b.State(now)
				if !*all && (state == petcat.BanLifted || state == petcat.BanEnded) {
					return nil
				}
				l.add(banDocument(b, now), b.Key.String(), b.Account.String(), string(state), strconv.Itoa(b.Level),
					timestamp(b.StartedAt), timestamp(b.End()), strconv.Itoa(b.EarlyRetries))
				return nil
			})
			if err != nil {
				return err
			}
			none := "No key is banned."
			if *all {
				none = "No key was ever banned."
			}
			return p.printList(l, *asJSON, none)
		})
	}
	return cmd
}

func (p *program) banLiftCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lift KEY_ID",
		Short: "End the ban of a key now",
		Args:  arguments("KEY_ID"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseKeyID(args[0])
		if err != nil {
			return err
		}
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			b, err := st.LiftBan(ctx, actor(), id)
			if err != nil {
				return unsure(notFound(err, "list the bans with: petcat ban list"), exitTryLater, "the ban of %s may have been lifted; check with: petcat ban list, or run the command again", id)
			}
			if *asJSON {
				return p.printJSON(banDocument(b, p.now()))
			}
			return p.say("The ban of %s is lifted.", b.Key)
		})
	}
	return cmd
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petcat"
)

func (p *program) accountRefusalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "refusals ACCOUNT",
		Short: "Show the last requests of an account that were refused or failed",
		Long: `Show the last 20 requests of an account that got 429 or a status of 500 or more, newest
first and from all servers: the time, the X-Request-Id, the operation, how much of each
quota was used, and until when. "share of 60" says that a node admitted only its share
of the minute, because the nodes could not count together. They are shown within two
seconds, and kept for 30 days.`,
		Example: `  petcat account refusals acme
  petcat account refusals acct_12 --json`,
		Args: arguments("ACCOUNT"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			a, err := findAccount(ctx, st, args[0])
			if err != nil {
				return err
			}
			refusals, err := st.Refusals(ctx, a.ID)
			switch {
			case err != nil:
				return err
			case *asJSON:
				documents := []recentRefusalJSON{}
				for _, r := range refusals {
					documents = append(documents, recentRefusalDocument(r))
				}
				return p.printJSON(documents)
			case len(refusals) == 0:
				return p.say("No request of %s was refused or failed lately.", accountTitle(a))
			default:
				return p.printRefusals(refusals)
			}
		})
	}
	return cmd
}

// recentRefusalJSON is a refusal or a failure as --json prints it.
type recentRefusalJSON struct {
	At        string             `json:"at"`
	RequestID string             `json:"request_id"`
	Key       string             `json:"key"`
	Operation petcat.OperationID `json:"operation"` // "" if no operation has this path and method
	Status    int                `json:"status"`
	Code      petcat.Code        `json:"code"`
	Reason    string             `json:"reason"` // minute, share, day or ban; "" for a failure
	Minute    *spentJSON         `json:"minute"` // null if it is not known
	Day       *spentJSON         `json:"day"`
	Until     *string            `json:"until"`
}

type spentJSON struct {
	Used  *int64 `json:"used"` // null if it is not known
	Limit int64  `json:"limit"`
}

func recentRefusalDocument(r petcat.Refusal) recentRefusalJSON {
	d := recentRefusalJSON{
		At: r.At.UTC().Format(auditTime), RequestID: r.RequestID, Key: r.Key.String(), Operation: r.Operation, Status: r.Status,
		Code: r.Code, Reason: r.Reason(), Minute: spentDocument(r.Minute), Day: spentDocument(r.Day), Until: nullableTime(r.Until),
	}
	if r.ByShare && d.Minute != nil {
		d.Minute.Used = nil
	}
	return d
}

func spentDocument(s petcat.Spent) *spentJSON {
	if s.Limit == 0 {
		return nil
	}
	return &spentJSON{&s.Used, s.Limit}
}

func (p *program) printRefusals(refusals []petcat.Refusal) error {
	var rows [][]string
	byShare := false
	for _, r := range refusals {
		operation := string(r.Operation)
		if operation == "" {
			operation = "-"
		}
		rows = append(rows, []string{
			r.At.UTC().Format(auditTime), r.RequestID, r.Key.String(), operation, fmt.Sprint(r.Status), string(r.Code),
			minuteCell(r), spentCell(r.Day), timestampOr(r.Until, "-"),
		})
		byShare = byShare || r.ByShare
	}
	err := p.printTable([]string{"AT", "REQUEST ID", "KEY", "OPERATION", "STATUS", "CODE", "MINUTE", "DAY", "UNTIL"}, rows)
	if err != nil || !byShare {
		return err
	}
	return p.sayParagraph("Share: a node admitted its share of the minute, and the rest of the quota was kept for other nodes, because the nodes could not count together.")
}

// minuteCell is spentCell of a refusal's minute.
func minuteCell(r petcat.Refusal) string {
	if r.ByShare {
		return fmt.Sprintf("share of %d", r.Minute.Limit)
	}
	return spentCell(r.Minute)
}

// spentCell returns how much of a quota was used, "-" if that is unknown.
func spentCell(s petcat.Spent) string {
	if s.Limit == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", s.Used, s.Limit)
}

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
		Short: "Show the requests of an account that were refused or failed lately",
		Long: `Show the requests of an account that got 429 or a status of 500 or more, from all
servers: one line for each key, operation and code, with how many there were and when,
and of the last one the X-Request-Id, how much of each quota was used, and until when.
The newest 20 lines are shown, the newest first. Requests appear within two seconds, and
a line is kept for 30 days after its last request.`,
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

// recentRefusalJSON are refusals or failures as --json prints them.
type recentRefusalJSON struct {
	Key       string             `json:"key"`
	Operation petcat.OperationID `json:"operation"` // "" if no operation has this path and method
	Status    int                `json:"status"`
	Code      petcat.Code        `json:"code"`
	Reason    string             `json:"reason"` // minute, day or ban; "" for failures
	Count     int64              `json:"count"`
	FirstAt   string             `json:"first_at"`
	LastAt    string             `json:"last_at"`
	RequestID string             `json:"request_id"` // of the last
	Minute    *spentJSON         `json:"minute"`     // null if it is not known
	Day       *spentJSON         `json:"day"`
	Until     *string            `json:"until"`
}

type spentJSON struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

func recentRefusalDocument(r petcat.Refusal) recentRefusalJSON {
	return recentRefusalJSON{
		Key: r.Key.String(), Operation: r.Operation, Status: r.Status, Code: r.Code, Reason: r.Reason(), Count: r.Count,
		FirstAt: r.First.UTC().Format(auditTime), LastAt: r.Last.UTC().Format(auditTime), RequestID: r.RequestID,
		Minute: spentDocument(r.Minute), Day: spentDocument(r.Day), Until: nullableTime(r.Until),
	}
}

func spentDocument(s petcat.Spent) *spentJSON {
	if s.Limit == 0 {
		return nil
	}
	return &spentJSON{s.Used, s.Limit}
}

func (p *program) printRefusals(refusals []petcat.Refusal) error {
	var rows [][]string
	for _, r := range refusals {
		operation := string(r.Operation)
		if operation == "" {
			operation = "-"
		}
		rows = append(rows, []string{
			timestamp(r.Last), fmt.Sprint(r.Count), timestamp(r.First), r.Key.String(), operation, fmt.Sprint(r.Status), string(r.Code),
			spentCell(r.Minute), spentCell(r.Day), timestampOr(r.Until, "-"), r.RequestID,
		})
	}
	return p.printTable([]string{"LAST", "COUNT", "FIRST", "KEY", "OPERATION", "STATUS", "CODE", "MINUTE", "DAY", "UNTIL", "LAST REQUEST ID"}, rows)
}

// spentCell returns how much of a quota was used, "-" if that is unknown.
func spentCell(s petcat.Spent) string {
	if s.Limit == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", s.Used, s.Limit)
}

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"petcat/internal/config"
	"petcat/internal/doctor"
	"petcat/internal/server"
)

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Look for problems on this machine, and say what to do about them",
		GroupID: groupRun,
		Long: `Check what petcat serve needs with the same settings: data, schema, disk and its
sync time, clock, database, shared counters, the node itself if one runs, listeners,
certificate and backups. Nothing is changed, and a running node is not disturbed.

Prints one line for each finding, which says what to do unless its status is ok. The exit
code is 1 if one of them is a problem, else 0.`,
		Args: arguments(),
	}
	registerServeFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := p.storeSettings(cmd)
		if err != nil {
			return err
		}
		host, err := os.Hostname()
		if err != nil {
			host = ""
		}
		findings := doctor.Examine(cmd.Context(), doctor.Options{
			Settings: settings, Clock: p.clock, Place: place(settings), Host: host,
			Open:    func(ctx context.Context) (doctor.Store, error) { return p.openExamined(ctx, settings) },
			Ask:     func(ctx context.Context) (server.Readiness, error) { return askOwnNode(ctx, settings) },
			Explain: explain,
		})
		return p.printFindingsOf(findings, *asJSON)
	}
	return cmd
}

// openExamined opens the data as other commands do.
func (p *program) openExamined(ctx context.Context, settings config.Settings) (doctor.Store, error) {
	st, err := p.openStore(ctx, settings, mustExist)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// askOwnNode asks the node on this machine for its state.
func askOwnNode(ctx context.Context, settings config.Settings) (server.Readiness, error) {
	url, err := settings.AdminURL()
	if err != nil {
		return server.Readiness{}, err
	}
	r, _, err := askReadiness(ctx, url+"/readyz")
	return r, err
}

// doctorJSON is what petcat doctor --json prints.
type doctorJSON struct {
	Status   doctor.Status    `json:"status"` // the worst status of the findings
	Findings []doctor.Finding `json:"findings"`
}

func (p *program) printFindingsOf(findings []doctor.Finding, asJSON bool) error {
	problems, rows := 0, make([][]string, 0, len(findings))
	for _, f := range findings {
		rows = append(rows, []string{string(f.Status), f.Part, f.Text})
		if f.Status == doctor.Problem {
			problems++
		}
	}
	var err error
	if asJSON {
		err = p.printJSON(doctorJSON{doctor.Worst(findings), findings})
	} else {
		err = p.printColumns(rows)
	}
	if err == nil && problems > 0 {
		err = &failure{code: exitFailed, text: fmt.Sprintf("problems were found: %d", problems)}
	}
	return err
}

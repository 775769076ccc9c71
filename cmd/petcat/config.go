package main

import (
	"cmp"
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"petcat/internal/config"
)

// configCommand shows the settings that serve would run with.
func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show the effective settings, secrets masked, and where each came from",
		GroupID: groupAbout,
		Long: `Show the settings that petcat serve would run with, secrets masked, and where
each came from: the flag, then the environment, then the default. An empty
variable counts as unset. PETCAT_DATABASE_FILE can name a file with the URL of the
database. A node that already runs, such as a systemd unit, keeps the settings with
which it was started: --running shows those.`,
		Example: `  petcat config
  petcat config --running --admin-listen 127.0.0.1:8081`,
		Args: arguments(),
	}
	registerServeFlags(cmd)
	asJSON := jsonFlag(cmd)
	running := cmd.Flags().Bool("running", false, "show the settings of the node that runs on this machine, asked at --admin-listen")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := p.loadSettings(cmd)
		if !*running { // prints the settings even if one is wrong: that is when users look at them
			return cmp.Or(p.printSettings(settings.Values, *asJSON), err)
		}
		if err != nil {
			return err
		}
		values, err := askSettings(cmd.Context(), settings)
		if err != nil {
			return err
		}
		return p.printSettings(values, *asJSON)
	}
	return cmd
}

// askSettings asks the node on this machine for its settings.
func askSettings(ctx context.Context, settings config.Settings) (values []config.Value, err error) {
	url, err := settings.AdminURL()
	if err != nil {
		return nil, err
	}
	url += "/settings"
	status, err := askNode(ctx, url, &values)
	if err == nil && (status != http.StatusOK || len(values) == 0) {
		err = notAdminError(url)
	}
	return values, err
}

func (p *program) printSettings(values []config.Value, asJSON bool) error {
	if asJSON {
		return p.printJSON(values)
	}
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{v.Flag, v.Environment, v.Shown(), v.Origin})
	}
	return p.printTable([]string{"FLAG", "ENVIRONMENT", "VALUE", "FROM"}, rows)
}

package main

import (
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
variable counts as unset. PETCAT_DATABASE_FILE and PETCAT_LIMITER_FILE can name
files that contain the secrets.`,
		Args: arguments(),
	}
	registerServeFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// What is wrong is shown too: that is when one looks.
		if err := p.printSettings(config.Values(cmd.Flags(), p.environ), *asJSON); err != nil {
			return err
		}
		_, err := p.loadSettings(cmd)
		return err
	}
	return cmd
}

// settingJSON is one setting in petcat config --json.
type settingJSON struct {
	Flag        string `json:"flag"`
	Environment string `json:"environment"`
	Value       string `json:"value"`
	Default     string `json:"default"`
	Origin      string `json:"origin"`
}

func (p *program) printSettings(values []config.Value, asJSON bool) error {
	if asJSON {
		documents := make([]settingJSON, 0, len(values))
		for _, v := range values {
			documents = append(documents, settingJSON{
				Flag: "--" + v.Flag, Environment: v.Env, Value: v.Shown(), Default: v.Default, Origin: v.Origin,
			})
		}
		return p.printJSON(documents)
	}
	var rows [][]string
	for _, v := range values {
		value := v.Shown()
		if value == "" {
			value = "(" + v.WhenEmpty + ")"
		}
		rows = append(rows, []string{"--" + v.Flag, v.Env, value, v.Origin})
	}
	return p.printTable([]string{"FLAG", "ENVIRONMENT", "VALUE", "FROM"}, rows)
}

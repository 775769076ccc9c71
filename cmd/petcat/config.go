package main

import "github.com/spf13/cobra"

// configCommand shows the settings that serve would run with.
func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show the effective settings, secrets masked, and where each came from",
		GroupID: groupAbout,
		Long: `Show the settings that petcat serve would run with, secrets masked, and where
each came from: the flag, then the environment, then the default. An empty
variable counts as absent. Secrets may come from a file: PETCAT_DATABASE_FILE and
PETCAT_LIMITER_FILE name one.`,
		Args: arguments(),
	}
	registerServeFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// What is wrong is shown too: that is when one looks.
		values, _ := resolveSettings(cmd, p.getenv)
		if err := p.printSettings(values, *asJSON); err != nil {
			return err
		}
		_, err := loadSettings(cmd, p.getenv)
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

func (p *program) printSettings(values []effective, asJSON bool) error {
	if asJSON {
		documents := make([]settingJSON, 0, len(values))
		for _, v := range values {
			documents = append(documents, settingJSON{
				Flag: "--" + v.flag, Environment: v.env, Value: v.shown(), Default: v.fallback, Origin: v.origin,
			})
		}
		return p.printJSON(documents)
	}
	var rows [][]string
	for _, v := range values {
		value := v.shown()
		if value == "" {
			value = "(" + v.whenEmpty + ")"
		}
		rows = append(rows, []string{"--" + v.flag, v.env, value, v.origin})
	}
	return p.printTable([]string{"FLAG", "ENVIRONMENT", "VALUE", "FROM"}, rows)
}

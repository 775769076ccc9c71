package main

import (
	"errors"

	"github.com/spf13/cobra"

	"petcat/internal/config"
)

func (p *program) initCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Create an empty deployment before the first start",
		GroupID: groupRun,
		Long: `Create an empty deployment, so that accounts can be created before the first start.
petcat serve creates one, too, if there is none, except with --init=false. The
environment is stored with the data and cannot be changed later. If a deployment for
that environment exists already, nothing is changed.`,
		Example: `  petcat init --data /var/lib/petcat --environment staging`,
		Args:    arguments(),
	}
	registerStoreFlags(cmd)
	registerFlags(cmd, "environment")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		settings, err := p.storeSettings(cmd)
		if err != nil {
			return err
		}
		st, err := p.openStore(cmd.Context(), settings, mayCreate)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closing(st, nil)) }()
		if *asJSON {
			return p.printJSON(struct {
				Place       string `json:"place"`
				Environment string `json:"environment"`
			}{place(settings), string(st.Environment())})
		}
		return p.say("There is a %s deployment in %s.", st.Environment(), place(settings))
	}
	return cmd
}

// noDataError returns the error for settings that point to no deployment.
func noDataError(settings config.Settings) error {
	return config.Errorf("there is no data in %s; give its location with --data (PETCAT_DATA) or --database (PETCAT_DATABASE), or create a new deployment there with petcat serve or petcat init", place(settings))
}

package main

import (
	"github.com/spf13/cobra"
)

func (p *program) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the data of an older version up to date",
		GroupID: groupKeep,
		Long: `Bring the schema of the data up to that of this version, forward only, as petcat
serve does when it starts. All other commands refuse data with an older schema,
because a server of the older version cannot be started on it any more; one that
runs goes on. Data that is up to date is not changed.`,
		Args: arguments(),
	}
	registerStoreFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := p.storeSettings(cmd)
		if err != nil {
			return err
		}
		st, err := p.openStore(cmd.Context(), settings, mayMigrate)
		if err != nil {
			return err
		}
		if err := closing(st, nil); err != nil {
			return err
		}
		return p.say("The data in %s is up to date.", settings.place())
	}
	return cmd
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Migrate the data of an older version",
		GroupID: groupKeep,
		Long: `Migrate the schema to this version, forward only, as petcat serve does at startup.
All other commands refuse data with an older schema, because after a migration a
server of the older version cannot start any more; one that is running keeps running.
Data that is up to date is not changed.`,
		Args: arguments(),
	}
	registerStoreFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := p.storeSettings(cmd)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(p.stderr, "Migrating the data in %s, if its schema is older.\n", printable(place(settings)))
		st, err := p.openStore(cmd.Context(), settings, mayMigrate)
		if err != nil {
			return err
		}
		if err := closing(st, nil); err != nil {
			return err
		}
		return p.say("The data in %s is up to date.", place(settings))
	}
	return cmd
}

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"petcat/internal/config"
)

// registerServeFlags adds the flags of every setting.
func registerServeFlags(cmd *cobra.Command) { registerFlags(cmd) }

// registerStoreFlags adds the flags that say where the data of a management command is.
func registerStoreFlags(cmd *cobra.Command) { registerFlags(cmd, "data", "database") }

// registerFlags adds the flags of the named settings; without names, those of all settings.
func registerFlags(cmd *cobra.Command, names ...string) {
	for _, s := range config.Register(cmd.Flags(), names...) {
		if len(s.Choices) > 0 {
			complete(cmd, s.Flag, s.Choices)
		}
	}
}

// loadSettings returns the settings of a command. It warns of variables that look like
// settings but are not.
func (p *program) loadSettings(cmd *cobra.Command) (config.Settings, error) {
	if names := config.UnknownVariables(p.environ); len(names) > 0 {
		_, _ = fmt.Fprintf(p.stderr, "petcat: warning: unknown setting %s; list all settings with: petcat config\n",
			printable(strings.Join(names, ", ")))
	}
	return config.Load(cmd.Flags(), p.environ)
}

// storeSettings returns the settings of a management command. A flag that names a directory
// while the environment names a database is ambiguous. It is refused, so that a command
// that is meant for one deployment does not change another.
func (p *program) storeSettings(cmd *cobra.Command) (config.Settings, error) {
	settings, err := p.loadSettings(cmd)
	if err != nil {
		return config.Settings{}, err
	}
	if cmd.Flags().Changed("data") && !cmd.Flags().Changed("database") && !settings.UsesSQLite() {
		return config.Settings{}, usageErrorf("--data names a directory and the environment names a database (PETCAT_DATABASE or PETCAT_DATABASE_FILE); pass --database sqlite for the directory, or leave out --data for the database")
	}
	return settings, nil
}

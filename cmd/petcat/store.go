package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/postgres"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// open opens the data, also while servers and other commands use it. Only init may create a
// deployment: a command with a wrong location must not create keys that no server knows.
func (c *call) open(mayCreate bool) (err error) {
	if c.settings, err = c.storeSettings(c.cmd); err != nil {
		return err
	}
	return c.openData(mayCreate)
}

// openData opens the data that the settings name.
func (c *call) openData(mayCreate bool) (err error) {
	if c.db, err = c.openDatabase(c.ctx(), c.settings, mayCreate); err != nil {
		return err
	}
	c.store = store.New(c.db, c.clock)
	return nil
}

func (p *program) openDatabase(ctx context.Context, settings config.Settings, mayCreate bool) (store.Database, error) {
	environment := settings.Environment
	if !isGiven(settings, "--environment") {
		environment = "" // the environment of the data, or the default for new data
	}
	if !settings.UsesSQLite() {
		db, err := postgres.Open(ctx, postgres.Options{
			URL: settings.Database, Environment: environment, Clock: p.clock, MustExist: !mayCreate,
		})
		if err != nil {
			return nil, err // not a nil *postgres.DB
		}
		return db, nil
	}
	dir, err := datadir.Open(settings.Data, mayCreate)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Environment: environment, Clock: p.clock})
	if err != nil {
		return nil, err // not a nil *sqlite.DB
	}
	return db, nil
}

// loadSettings returns the settings of a command. It warns about unknown variables that look like
// settings.
func (p *program) loadSettings(cmd *cobra.Command) (config.Settings, error) {
	settings, err := config.Load(cmd.Flags(), p.environ)
	for _, text := range p.settingWarnings(cmd, err == nil) {
		p.warn("%s", text)
	}
	return settings, err
}

// settingWarnings returns sentences about settings that are wrong or dangerous, but work. valid is false
// if others do not.
func (p *program) settingWarnings(cmd *cobra.Command, valid bool) (warnings []string) {
	if names := config.UnknownVariables(p.environ); len(names) > 0 {
		warnings = append(warnings,
			fmt.Sprintf("unknown setting %s; list all settings with: petcat config", strings.Join(names, ", ")))
	}
	if valid && showsPassword(cmd) {
		warnings = append(warnings, "all users of this machine can read the password of --database in the list of processes; "+
			"set PETCAT_DATABASE_FILE to the name of a file with the URL, or PETCAT_DATABASE")
	}
	return warnings
}

// showsPassword reports whether the argument --database of a command contains a password.
func showsPassword(cmd *cobra.Command) bool {
	flag := cmd.Flags().Lookup("database")
	if flag == nil || !flag.Changed {
		return false
	}
	u, err := url.Parse(flag.Value.String())
	if err != nil {
		return false
	}
	_, inUser := u.User.Password()
	return inUser || u.Query().Has("password")
}

// storeSettings returns the settings of a management command. It rejects a flag with a directory if
// the environment has a database, because the command could change the wrong deployment.
func (p *program) storeSettings(cmd *cobra.Command) (config.Settings, error) {
	settings, err := p.loadSettings(cmd)
	if err == nil && cmd.Flags().Changed("data") && !cmd.Flags().Changed("database") && !settings.UsesSQLite() {
		err = usageErrorf(
			"--data names a directory and the environment names a database (PETCAT_DATABASE or " +
				"PETCAT_DATABASE_FILE); pass --database sqlite for the directory, or leave out --data for the " +
				"database")
	}
	return settings, err
}

// place returns the data's location, for messages.
func place(s config.Settings) string {
	if !s.UsesSQLite() {
		return "the PostgreSQL database at " + postgres.Place(s.Database)
	}
	if absolute, err := filepath.Abs(s.Data); err == nil {
		return absolute
	}
	return s.Data
}

func (p *program) initCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create an empty deployment before the first start",
		Long: `Create an empty deployment, for example to create accounts before the first
start. The environment is stored with the data and cannot be changed later. If a
deployment for that environment already exists, nothing is changed.`,
		Example: `  petcat init --data /var/lib/petcat --environment staging`,
	}
	registerFlags(cmd, "data", "database", "environment")
	return p.printing(cmd, func(c *call) error { return c.prepare(true, "There is a %s deployment in %s.") })
}

func (p *program) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Migrate the data from an older version",
		Example: "  petcat migrate --database postgres://petcat@db/petcat",
		Long: `Migrate the schema to this version. Any other command of this version that opens
the data does the same. Migrations only add to the schema, so servers of the
older version continue to run, and can be started.`,
	}
	registerFlags(cmd, "data", "database")
	return p.printing(cmd, func(c *call) error { return c.prepare(false, "The %s deployment in %s is up to date.") })
}

// prepare opens the data and prints its location.
func (c *call) prepare(mayCreate bool, sentence string) error {
	if err := c.open(mayCreate); err != nil {
		return err
	}
	at := place(c.settings)
	return c.print(
		record{kv("place", at), kv("environment", c.store.Environment())},
		sentence,
		c.store.Environment(),
		at,
	)
}

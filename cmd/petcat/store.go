package main

import (
	"context"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/datadir"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

// store is what the management commands need of where the data is kept.
type store interface { //nolint:interfacebloat // a sum of small ones
	petcat.AccountStore
	petcat.KeyStore
	petcat.BanStore
	petcat.AuditStore
	// Environment returns the environment that the data belongs to: keys are
	// made for it.
	Environment() petcat.Environment
	Close() error
}

// archive is a store as a whole, for what copies, fills or checks all of it.
type archive interface {
	backup.Source
	backup.Target
	// Integrity returns one sentence for each damage that the database finds.
	Integrity(ctx context.Context) (findings []string, err error)
	// Environment returns the environment that the data belongs to.
	Environment() petcat.Environment
	Close() error
}

// openedStore is what both kinds of stores are.
type openedStore interface {
	store
	archive
}

// existence says what a command may do to a deployment as a whole. Only those that
// say so make a new one: what is typed with the wrong place must not make keys that
// no server knows. And only one changes an older schema, as a server does: the
// servers of the older version could not be started again.
type existence int

const (
	mustExist existence = iota
	mayCreate
	mayMigrate
)

// storeSettings returns the settings of a command that works on the data beside a
// server. A flag that names a directory while the environment names a database
// could be meant either way, so it is refused: otherwise what is meant for one
// deployment would change another.
func (p *program) storeSettings(cmd *cobra.Command) (Settings, error) {
	settings, err := loadSettings(cmd, p.getenv)
	if err != nil {
		return Settings{}, err
	}
	if cmd.Flags().Changed("data") && !cmd.Flags().Changed("database") && !settings.sqlite() {
		return Settings{}, usageErrorf("--data names a directory and the environment names a database (PETCAT_DATABASE or PETCAT_DATABASE_FILE); pass --database sqlite for the directory, or leave out --data for the database")
	}
	return settings, nil
}

// withStore opens the store that the flags of cmd name and lets fn work on it.
func (p *program) withStore(cmd *cobra.Command, fn func(context.Context, store) error) error {
	settings, err := p.storeSettings(cmd)
	if err != nil {
		return err
	}
	st, err := p.openStore(cmd.Context(), settings, mustExist)
	if err != nil {
		return err
	}
	return closing(st, fn(cmd.Context(), st))
}

// openStore opens the data beside whatever else has it open.
func (p *program) openStore(ctx context.Context, settings Settings, data existence) (openedStore, error) {
	environment := settings.Environment
	if !settings.EnvironmentGiven {
		environment = "" // the data's own, or the default for fresh data
	}
	if !settings.sqlite() {
		return postgres.Open(ctx, postgres.Options{
			URL: settings.Database, Environment: environment, Clock: p.clock, Migrate: data == mayMigrate, MustExist: data != mayCreate,
		})
	}
	has, err := datadir.HasData(settings.Data)
	if err != nil {
		return nil, err
	}
	if !has && data != mayCreate {
		return nil, noDataError(settings)
	}
	dir, err := datadir.Open(settings.Data)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{Dir: dir, Environment: environment, Clock: p.clock, Migrate: data == mayMigrate})
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/config"
	"petcat/internal/datadir"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

// store is what the commands need of the data.
type store interface { //nolint:interfacebloat // a sum of small ones
	petcat.AccountStore
	petcat.KeyStore
	petcat.AccessStore
	petcat.NodeStore
	petcat.BanStore
	petcat.AuditStore
	petcat.OperatorStore
	petcat.UsageStore
	backup.Source
	// Integrity returns one sentence for each damage that the database finds.
	Integrity(ctx context.Context) (findings []string, err error)
	// LogLevel and SetLogLevel read and set the log level of all nodes, and when it ends.
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
	SetLogLevel(ctx context.Context, by petcat.Actor, level slog.Level, until time.Time) error
	// Environment returns the environment that the data belongs to: keys are
	// made for it.
	Environment() petcat.Environment
	// petcat doctor needs the rest.
	Dataset() string
	Check(ctx context.Context) error
	Note(ctx context.Context, name string) (string, error)
	SwapNote(ctx context.Context, name, was, to string) (bool, error)
	Close() error
}

// openMode says what a command may do to a deployment as a whole. Only init may create one:
// a command with the wrong location must not create keys that no server knows. Only migrate
// may change an older schema, because servers of the older version cannot start after that.
type openMode int

const (
	mustExist openMode = iota
	mayCreate
	mayMigrate
)

// withStore opens the store that the flags of cmd name and lets fn read it.
func (p *program) withStore(cmd *cobra.Command, fn func(context.Context, store) error) error {
	_, st, err := p.openNamed(cmd)
	if err != nil {
		return err
	}
	return closing(st, fn(cmd.Context(), st))
}

// changeStore is withStore for an fn that writes. It first prints on stderr where the data
// is, so that a user who sees the wrong place can stop the command or undo the change.
func (p *program) changeStore(cmd *cobra.Command, fn func(context.Context, store) error) error {
	settings, st, err := p.openNamed(cmd)
	if err != nil {
		return err
	}
	if asJSON, err := cmd.Flags().GetBool("json"); err != nil || !asJSON {
		_, _ = fmt.Fprintf(p.stderr, "Changing the %s deployment in %s.\n", st.Environment(), printable(place(settings)))
	}
	return closing(st, fn(cmd.Context(), st))
}

func (p *program) openNamed(cmd *cobra.Command) (config.Settings, store, error) {
	settings, err := p.storeSettings(cmd)
	if err != nil {
		return settings, nil, err
	}
	st, err := p.openStore(cmd.Context(), settings, mustExist)
	return settings, st, err
}

// openStore opens the data, which servers and other commands may have open too.
func (p *program) openStore(ctx context.Context, settings config.Settings, mode openMode) (store, error) {
	environment := settings.Environment
	if !settings.EnvironmentGiven {
		environment = "" // the data's own, or the default for fresh data
	}
	if !settings.UsesSQLite() {
		return postgres.Open(ctx, postgres.Options{
			URL: settings.Database, Environment: environment, Clock: p.clock, Migrate: mode == mayMigrate, MustExist: mode != mayCreate,
		})
	}
	has, err := datadir.HasData(settings.Data)
	if err != nil {
		return nil, err
	}
	if !has && mode != mayCreate {
		return nil, noDataError(settings)
	}
	dir, err := datadir.Open(settings.Data)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{Dir: dir, Environment: environment, Clock: p.clock, Migrate: mode == mayMigrate})
}

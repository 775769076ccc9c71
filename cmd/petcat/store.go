package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/datadir"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

// store is what the management commands need of where the data is kept.
type store interface {
	petcat.AccountStore
	petcat.KeyStore
	petcat.BanStore
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

// existence says whether a command may begin a data directory.
type existence bool

const (
	mustExist existence = false
	mayCreate existence = true
)

// withStore opens the store that the flags of cmd name and lets fn work on it.
func (p *program) withStore(cmd *cobra.Command, data existence, fn func(context.Context, store) error) error {
	settings, err := loadSettings(cmd, p.getenv)
	if err != nil {
		return err
	}
	st, err := p.openStore(cmd.Context(), settings, data)
	if err != nil {
		return err
	}
	err = fn(cmd.Context(), st)
	if closeErr := st.Close(); err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}

// openStore opens the data beside whatever else has it open.
func (p *program) openStore(ctx context.Context, settings Settings, data existence) (openedStore, error) {
	environment := settings.Environment
	if !settings.EnvironmentGiven {
		environment = "" // the data's own, or the default for fresh data
	}
	if !settings.sqlite() {
		return postgres.Open(ctx, postgres.Options{URL: settings.Database, Environment: environment, Clock: p.clock})
	}
	has, err := datadir.HasData(settings.Data)
	if err != nil {
		return nil, err
	}
	if !has && data == mustExist {
		return nil, configErrorf("there is no data in %s; say with --data where it is, or begin with: petcat account create NAME --plan free", settings.Data)
	}
	dir, err := datadir.Open(settings.Data)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{Dir: dir, Environment: environment, Clock: p.clock})
}

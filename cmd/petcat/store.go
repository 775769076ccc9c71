package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"petcat"
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

func (p *program) openStore(context.Context, Settings, existence) (store, error) {
	return nil, errors.New("this build has no store")
}

func storeExitCode(error) int { return exitFailed }

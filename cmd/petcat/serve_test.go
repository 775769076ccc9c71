package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/config"
	"petcat/internal/store"
)

// startingNode is a node that cannot check keys yet.
type startingNode struct{ t *testing.T }

func (startingNode) Identify(context.Context, petcat.Secret) (petcat.AccountID, error) {
	return 0, petcat.Errorf(petcat.CodeServiceUnavailable, "keys cannot be checked at the moment; retry later")
}

func (n startingNode) Store() *store.Store {
	n.t.Fatal("the store is used")
	return nil
}

// TestDevKeyIsKept: petcat dev creates no other key if it cannot check the one in its file.
func TestDevKeyIsKept(t *testing.T) {
	const written = "pck_live_written before\n"
	file := filepath.Join(t.TempDir(), devKeyFile)
	if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := new(cobra.Command)
	cmd.SetContext(t.Context())
	c := &call{cmd: cmd, settings: config.Settings{Data: filepath.Dir(file)}}
	_, _, err := c.devKey(startingNode{t})
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Errorf("got %v, want the error of the node", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != written {
		t.Errorf("the file contains %q; %v", text, err)
	}
}

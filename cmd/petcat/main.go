// Command petcat is the Pet Category Service and the tool that manages it: one
// binary, one command per task, nothing else to install.
//
// It holds the wiring alone. Rules live in package petcat, where the HTTP API
// finds the same ones; storage, limits and HTTP live in the internal packages.
// The management commands work on the data directory itself, not through a
// running server, so they need no credentials but the right to write there, and
// they work while a server runs: it sees their changes within a second.
//
// When what a command depends on is away, the command says so in one sentence
// that names the remedy, changes nothing, and ends with an exit code of its
// own: see exit.go.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}

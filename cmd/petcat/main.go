// Command petcat is the Pet Category Service and the tool that manages it: one
// binary, one command per task, nothing else to install.
//
// It contains commands and printing. The rules are in package petcat, a running node is
// in internal/server, and storage, limits and HTTP are in the other internal packages.
// The management commands work on the data directory or the database itself, not through
// a running server. So they need no credentials except access to the data, and running
// servers see their changes within a second. The commands for categories are clients of
// the API like any other, and need a key.
//
// If something that a command depends on is unavailable, the command says in one sentence
// what to do, and ends with an exit code that tells the kinds of failures apart: see
// exit.go.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

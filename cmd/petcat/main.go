// Command petcat is the Pet Category Service and the tool that manages it: one
// binary, one command per task, nothing else to install.
//
// It contains commands and printing. Rules are in package petcat, a running node in
// internal/server, and storage, limits and HTTP in the other internal packages. The
// management commands work on the data itself, not through a running server: whoever may
// write the data directory or the database needs no other credentials. A running server
// sees their changes within a second. The commands for categories are clients of the API,
// as any other, and need a key.
//
// When something that a command depends on is unavailable, the command says so in
// one sentence that names the remedy, changes nothing, and ends with an exit code of
// its own: see exit.go.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// Command pocketbase is PocketBase as its documentation builds it, to compare
// with.
package main

import (
	"fmt"
	"os"

	"github.com/pocketbase/pocketbase"
)

func main() {
	if err := pocketbase.New().Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

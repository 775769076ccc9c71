// Command pocketbase is PocketBase, built as its documentation describes, for comparison.
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

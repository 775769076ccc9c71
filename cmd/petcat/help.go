package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// setHelp makes the help of a command tree fit into 80 columns, and print default values
// without quotes.
func setHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", "FlagUsagesWrapped 80"))
	showPlainDefaults(root)
}

func showPlainDefaults(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "string" {
			f.Value = plainText{f.Value}
		}
	})
	for _, child := range cmd.Commands() {
		showPlainDefaults(child)
	}
}

// plainText is a string flag. pflag puts the defaults of that type into quotes.
type plainText struct{ pflag.Value }

// Type implements [pflag.Value].
func (plainText) Type() string { return "text" }

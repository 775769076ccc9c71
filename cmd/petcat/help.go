package main

import "github.com/spf13/cobra"

// helpCommand is petcat help, which does the same as --help. Unlike cobra's own, it fails if
// there is no such command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Show what a command does, and its flags",
		GroupID: groupAbout,
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			for _, word := range args {
				child, _, err := about.Find([]string{word})
				if err != nil || child == about {
					return unknownCommand(about, word)
				}
				about = child
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// completionCommand prints the completion script of a shell.
func (p *program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "completion bash|zsh|fish|powershell",
		Short:   "Print a shell completion script",
		GroupID: groupAbout,
		Example: `  petcat completion bash > /etc/bash_completion.d/petcat
  petcat completion zsh > "${fpath[1]}/_petcat"
  petcat completion fish > ~/.config/fish/completions/petcat.fish`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      arguments("SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch shell := args[0]; shell {
			case "bash":
				return root.GenBashCompletionV2(p.stdout, true)
			case "zsh":
				return root.GenZshCompletion(p.stdout)
			case "fish":
				return root.GenFishCompletion(p.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.stdout)
			default:
				return usageErrorf("there is no completion for %q; use bash, zsh, fish or powershell", shell)
			}
		},
	}
}

// complete offers fixed values for a flag of cmd.
func complete(cmd *cobra.Command, flag string, values []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("complete --%s: %v", flag, err)) // the flag does not exist or was completed before: a mistake in this program
	}
}

// completeFiles offers files as the arguments of cmd.
func completeFiles(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// completeNoFiles keeps shells from offering files as arguments, except for commands with a
// completion of their own.
func completeNoFiles(cmd *cobra.Command) {
	if cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range cmd.Commands() {
		completeNoFiles(child)
	}
}

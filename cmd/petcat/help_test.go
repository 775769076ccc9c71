package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelp: the help of each command fits into 80 columns, except examples and cobra's last line. The
// help of each command without subcommands shows an example with existing flags.
func TestHelp(t *testing.T) {
	eachCommand((&program{}).rootCommand(), func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return // cobra's
		}
		var help bytes.Buffer
		cmd.SetOut(&help)
		must(t, cmd.Help())
		for line := range strings.Lines(help.String()) {
			line = strings.TrimRight(line, "\n")
			if utf8.RuneCountInString(line) > 80 && !strings.HasPrefix(line, "  petcat ") && !strings.HasPrefix(line, "Use ") {
				t.Errorf("%s: a line of the help is longer than 80 columns: %s", cmd.CommandPath(), line)
			}
			if strings.Contains(line, `(default "`) {
				t.Errorf("%s: a default in quotes: %s", cmd.CommandPath(), line)
			}
		}
		if !cmd.HasSubCommands() {
			checkExample(t, cmd)
		}
	})
}

func checkExample(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	command, _, _ := strings.Cut(cmd.Example, "\n")
	command, _, _ = strings.Cut(command, " | ")
	args, ok := strings.CutPrefix(strings.TrimSpace(command), cmd.CommandPath())
	if !ok {
		t.Errorf("%s: the example is %q", cmd.CommandPath(), command)
		return
	}
	for arg := range strings.FieldsSeq(args) {
		flag, isFlag := strings.CutPrefix(arg, "--")
		if isFlag && cmd.Flag(flag) == nil {
			t.Errorf("%s: the example has the unknown flag --%s", cmd.CommandPath(), flag)
		}
	}
}

package main

import (
	"github.com/spf13/cobra"

	"petcat/internal/importer"
)

func (p *program) categoryExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all categories into a file, or to stdout",
		Long: `Write all categories into a CSV, JSON or JSON lines file, or to stdout, as CSV unless
--format says otherwise. FILE appears when it is complete. petcat category import can
read it. The list is read in pages of 1,000. Each page is one request and counts against
the limits, which the command obeys.`,
		Example: `  petcat category export categories.csv
  petcat category export --format jsonl | jq -r .name`,
		Args: arguments("[FILE]"),
	}
	completeFiles(cmd)
	api, asJSON, quiet := p.apiFlags(cmd), jsonFlag(cmd), quietFlag(cmd)
	var format string
	formatFlag(cmd, &format)
	force := cmd.Flags().Bool("force", false, "replace FILE if it exists")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer interruptible(cmd)()
		if len(args) == 0 {
			args = []string{dash}
		}
		if args[0] == dash && format == "" {
			format = string(importer.CSV)
		}
		written, err := formatOf(args[0], format)
		if err != nil {
			return err
		}
		c, service, err := api.dial()
		if err != nil {
			return err
		}
		out, err := p.openOutput(args[0], *force, *asJSON)
		if err != nil {
			return err
		}
		defer out.discard()
		bar := p.newProgress("exported", !*asJSON && !*quiet && args[0] != dash)
		bar.begin(unknownTotal)
		err = importer.Write(out, written, c.Categories.All(cmd.Context()), bar.step)
		bar.end()
		if err == nil {
			err = out.keep()
		}
		switch {
		case err != nil:
			return explainAPI(err, service)
		case *asJSON:
			return p.printJSON(struct {
				File       string `json:"file"`
				Categories int64  `json:"categories"`
			}{args[0], bar.done})
		case *quiet || args[0] == dash:
			return nil
		default:
			return p.say("%s exported to %s.", counted(bar.done, "category", "categories"), args[0])
		}
	}
	return cmd
}

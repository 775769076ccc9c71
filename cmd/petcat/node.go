package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (p *program) nodeCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "node",
		Short:   "List the running servers, and take one out of rotation",
		GroupID: groupManage,
		Long: `List the running servers of a deployment, which are called nodes, and take one out of
rotation. A node is called by its --node-name.`,
	},
		p.nodeListCommand(),
		p.nodeDrainCommand("drain", true, "Let a node get no more requests",
			`Let a node get no more requests: within seconds its /readyz answers 503, so a proxy takes
it out of rotation. It goes on to answer the requests that it gets, until it is resumed
or restarted.`, "%s is drained. Bring it back with: petcat node resume %s"),
		p.nodeDrainCommand("resume", false, "Let a drained node get requests again",
			`Let a drained node get requests again: within seconds its /readyz answers 200.`, "%s gets requests again."),
	)
}

func (p *program) nodeListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the running nodes",
		Long: `List the running nodes with their version and state, and since when they have that state.
The states are those of /readyz: ready, degraded, unavailable, drained, draining (it
stops), starting and failed. A node that was killed is listed for up to 15 seconds.`,
		Example: `  petcat node list
  petcat node list --json`,
		Args: arguments(),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			nodes, err := st.Nodes(ctx)
			if err != nil {
				return err
			}
			type nodeJSON struct {
				Label   string `json:"label"`
				Version string `json:"version"`
				State   string `json:"state"`
				Since   string `json:"since"`
			}
			documents, rows := []nodeJSON{}, [][]string(nil)
			for _, n := range nodes {
				documents = append(documents, nodeJSON{n.Label, n.Version, n.State, timestamp(n.Since)})
				rows = append(rows, []string{n.Label, n.Version, n.State, timestamp(n.Since)})
			}
			switch {
			case *asJSON:
				return p.printJSON(documents)
			case len(nodes) == 0:
				return p.say("No node is running.")
			default:
				return p.printTable([]string{"LABEL", "VERSION", "STATE", "SINCE"}, rows)
			}
		})
	}
	return cmd
}

// nodeDrainCommand returns the command that drains or resumes a node.
func (p *program) nodeDrainCommand(name string, drained bool, short, long, done string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " LABEL", Short: short, Long: long,
		Example: "  petcat node " + name + " web-2",
		Args:    arguments("LABEL"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			if err := st.DrainNode(ctx, actor(), args[0], drained); err != nil {
				return notFound(err, "list the nodes with: petcat node list")
			}
			if *asJSON {
				return p.printJSON(map[string]any{"label": args[0], "drained": drained})
			}
			if drained {
				return p.say(done, args[0], args[0])
			}
			return p.say(done, args[0])
		})
	}
	return cmd
}

package main

import (
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petcat/internal/config"
)

func (p *program) nodeCommand() *cobra.Command {
	drain := func(cmd *cobra.Command, drained bool, done string) *cobra.Command {
		return p.managing(cmd, func(c *call) error {
			return c.done(c.DrainNode(c.ctx(), actor(), c.args[0], drained), record{kv("label", c.args[0]), kv("drained", drained)}, done, c.args[0])
		})
	}
	return parent(&cobra.Command{
		Use:   "node",
		Short: "List the running servers, and take one out of rotation",
		Long: `List the running servers of a deployment, which are called nodes, and take one out of
rotation. A node is called by its --node-name.`,
	},
		p.managing(&cobra.Command{
			Use:   "list",
			Short: "List the running nodes",
			Long: `List the running nodes with their version and state, and since when they have that state.
The states are those of /readyz: ready, degraded, unavailable, drained, draining (it
stops), starting and failed. A node that was killed is listed for up to 15 seconds.`,
		}, listNodes),
		drain(&cobra.Command{
			Use:   "drain LABEL",
			Short: "Let a node get no more requests",
			Long: `Let a node get no more requests: within seconds its /readyz answers 503, so a proxy takes
it out of rotation. It goes on to answer the requests that it gets, until it is resumed
or restarted.`,
		}, true, "%[1]s is drained. Bring it back with: petcat node resume %[1]s"),
		drain(&cobra.Command{
			Use:   "resume LABEL",
			Short: "Let a drained node get requests again: within seconds its /readyz answers 200",
		}, false, "%s gets requests again."),
	)
}

func listNodes(c *call) error {
	nodes, err := c.Nodes(c.ctx())
	if err != nil {
		return err
	}
	return c.list(records(c, nodes), "label version state since", "No node is running.")
}

// resetLevel is the argument that ends a level which was set.
const resetLevel = "reset"

// logLevelCommand changes what running nodes log. Like every management command it writes
// to the data, so only users who may write there can change the level.
func (p *program) logLevelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change the log level of all running nodes, for a time",
		Long: `Change the lowest level that all nodes log: debug, info, warn or error. They follow
within seconds. After the time of --for, or after petcat log-level reset, each node logs
again as its own --log-level says. Without LEVEL, show the current level.`,
		Example: `  petcat log-level warn --for 30m
  petcat log-level reset`,
		ValidArgs: []string{"debug", "info", "warn", "error", resetLevel},
	}
	cmd.Flags().String("for", "1h", "`time` after which --log-level applies again, such as 30m")
	return p.managing(cmd, func(c *call) error {
		if len(c.args) == 1 {
			if err := c.setLogLevel(c.args[0]); err != nil {
				return err
			}
		}
		level, until, err := c.LogLevel(c.ctx())
		if err != nil {
			return err
		}
		if !c.now().Before(until) { // each node logs as its settings say
			return c.print(record{kv("level", nil), kv("until", nil)}, "Each node logs as its own --log-level says.")
		}
		name := strings.ToLower(level.String())
		return c.print(record{kv("level", name), kv("until", until)}, "All nodes log from %s on, until %s. They follow within seconds.", name, timestamp(until))
	})
}

// setLogLevel sets a level for the time of --for, or ends one.
func (c *call) setLogLevel(text string) error {
	if text == resetLevel {
		return c.SetLogLevel(c.ctx(), actor(), slog.LevelInfo, time.Time{})
	}
	level, err := config.ParseLogLevel(text)
	if err != nil {
		return usageErrorf("LEVEL %v, or %s", err, resetLevel)
	}
	length, err := c.duration("for")
	if err == nil && length == 0 {
		err = usageErrorf("--for must be more than 0")
	}
	if err != nil {
		return err
	}
	return c.SetLogLevel(c.ctx(), actor(), level, c.now().Add(length))
}

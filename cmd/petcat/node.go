package main

import (
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) nodeCommand() *cobra.Command {
	drain := func(cmd *cobra.Command, drained bool, done string) *cobra.Command {
		return p.managing(cmd, func(c *call) error {
			changed, err := c.store.DrainNode(c.ctx(), petcat.By(actor()), c.args[0], drained)
			n := changed.Value
			return c.done(err, record{kv("label", n.Label), kv("drained", n.Drained)}, done, n.Label)
		})
	}
	return parent(&cobra.Command{
		Use:   "node",
		Short: "List, drain and resume the running nodes",
		Long: `List the running servers of a deployment, which are called nodes, take them out
of rotation, and return them. LABEL is a node's --node-name.`,
	},
		p.managing(&cobra.Command{
			Use:     "list",
			Short:   "List the running nodes",
			Example: "  petcat node list",
			Long: `List the running nodes with their version, state and the start of that state.
The states are those of /readyz: ready, degraded, unavailable, drained, draining
(shutting down), starting and failed. A node that was killed is listed for up to
15 seconds.`,
		}, listNodes),
		drain(&cobra.Command{
			Use:     "drain LABEL",
			Short:   "Take a node out of rotation",
			Example: "  petcat node drain petcat-1",
			Long: `Take a node out of rotation: within seconds, its /readyz returns 503, so proxies
send it no more requests. It still serves the requests that it receives. A
restart or petcat node resume returns it to rotation.`,
		}, true, "%[1]s is drained. Return it to rotation with: petcat node resume %[1]s"),
		drain(&cobra.Command{
			Use:     "resume LABEL",
			Short:   "Return a drained node to rotation; /readyz soon returns 200",
			Example: "  petcat node resume petcat-1",
		}, false, "%s is back in rotation."),
	)
}

func listNodes(c *call) error {
	nodes, err := c.store.Nodes(c.ctx())
	if err != nil {
		return err
	}
	return c.list(records(c, nodes), "label version state since", "No node is running.")
}

// resetLevel is the argument that resets the level.
const resetLevel = "reset"

// logLevelCommand changes the log level of running nodes. Like every management command, it needs
// write access to the data.
func (p *program) logLevelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show the log level of all nodes, or change it temporarily",
		Long: `Change the lowest level that all nodes log: debug, info, warn or error. They
apply it within seconds. After the time in --for, or petcat log-level reset,
each node's own --log-level applies again. Without LEVEL, show the current
level.`,
		Example: `  petcat log-level warn --for 30m
  petcat log-level reset`,
		ValidArgs: []string{"debug", "info", "warn", "error", resetLevel},
	}
	cmd.Flags().String("for", "1h", "reset the level after this `time`, such as 30m")
	return p.managing(cmd, func(c *call) error {
		if len(c.args) == 1 {
			if err := c.setLogLevel(c.args[0]); err != nil {
				return err
			}
		}
		level, until, err := c.store.LogLevel(c.ctx())
		if err != nil {
			return err
		}
		shown := representation.LogLevel(level, until, c.now())
		if !c.now().Before(until) { // expired, or never set
			return c.print(shown, "Each node uses its own --log-level.")
		}
		return c.print(shown, "All nodes use the log level %s until %s. They apply it within seconds.",
			strings.ToLower(level.String()), timestamp(until))
	})
}

// setLogLevel sets the level for the time in --for, or resets it.
func (c *call) setLogLevel(text string) error {
	if text == resetLevel {
		_, err := c.store.SetLogLevel(c.ctx(), petcat.By(actor()), slog.LevelInfo, time.Time{})
		return err
	}
	level, err := config.ParseLogLevel(text)
	if err != nil {
		return usageErrorf("LEVEL %v, or %s", err, resetLevel)
	}
	length, err := config.ParseLogLevelTime(c.text("for"))
	if err != nil {
		return usageErrorf("--for %v", err)
	}
	_, err = c.store.SetLogLevel(c.ctx(), petcat.By(actor()), level, c.now().Add(length))
	return err
}

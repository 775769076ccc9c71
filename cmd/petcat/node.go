package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	neturl "net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petcat/internal/config"
	"petcat/internal/doctor"
	"petcat/internal/server"
)

// healthTimeout is how long a node may take to answer. Its state is in memory, so a node
// that takes longer is not healthy.
const healthTimeout = 2 * time.Second

// errNoAnswer is the error for a node that takes longer than healthTimeout.
var errNoAnswer = fmt.Errorf("no answer within %s", healthTimeout)

// maxAdminAnswer is far above the size of any answer of a node, in bytes.
const maxAdminAnswer = 64 << 10

// askNode gets JSON from the admin listener of the node on this machine, and decodes it into v,
// which valid then checks.
func askNode(ctx context.Context, settings config.Settings, path string, v any, valid func() bool) (status int, err error) {
	url, err := settings.AdminURL()
	if err != nil {
		return 0, err
	}
	url += path
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", url, err)
	}
	client := http.Client{Transport: &http.Transport{
		// The node is on this machine: no proxy is needed.
		Proxy: nil,
		// The certificate is not for the name of this machine, and the request
		// contains no secret.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // as above
	}}
	defer client.CloseIdleConnections()
	answer, err := client.Do(request)
	if e, ok := errors.AsType[*neturl.Error](err); ok {
		err = e.Err // without the address, which the message below contains
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	if err != nil {
		return 0, fmt.Errorf("no node responds at %s (%w); start one with petcat serve, or give its address with --admin-listen", url, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAdminAnswer))
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil || !valid() {
		return 0, fmt.Errorf("the server at %s is not petcat's admin listener; give its address with --admin-listen", url)
	}
	return answer.StatusCode, nil
}

// askReadiness asks the node on this machine for its state.
func askReadiness(ctx context.Context, settings config.Settings) (r server.Readiness, ready bool, err error) {
	status, err := askNode(ctx, settings, "/readyz", &r, func() bool { return r.Status != "" })
	return r, status == http.StatusOK, err
}

// healthCommand asks the node on this machine whether requests should be sent to
// it: for images without a shell, and for scripts.
func (p *program) healthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "health",
		GroupID: groupRun,
		Short:   "Ask the node on this machine whether it is ready",
		Long: `Check the node that runs on this machine with the same settings. The exit code is 0
if it is ready or degraded (it serves requests, but something that it depends on is
unavailable), and 1 if it is not ready or does not respond within 2 s.`,
	}
	// The settings of the listeners are checked together.
	registerFlags(cmd, "listen", "admin-listen", "admin-allow-plaintext", "tls-cert", "tls-key")
	return p.printing(cmd, func(c *call) error {
		settings, err := c.loadSettings(c.cmd)
		if err != nil {
			return err
		}
		r, ready, err := askReadiness(c.ctx(), settings)
		if err != nil {
			return err
		}
		if err := c.printReadiness(r); err != nil {
			return err
		}
		if !ready {
			return &failure{code: exitFailed, text: fmt.Sprintf("the node is %s: send it no requests", r.Status)}
		}
		return nil
	})
}

func (c *call) printReadiness(r server.Readiness) error {
	if c.asJSON {
		return c.printJSON(r)
	}
	rows := [][]string{{"status", r.Status}}
	for _, part := range slices.Sorted(maps.Keys(r.Checks)) {
		how := r.Checks[part]
		if since, ok := r.Since[part]; ok {
			how += " (since " + timestamp(since) + ")"
		}
		rows = append(rows, []string{part, how})
	}
	return c.printColumns(rows)
}

// configCommand shows the settings that serve would run with.
func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show the effective settings, secrets masked, and where each came from",
		GroupID: groupAbout,
		Long: `Show the settings that petcat serve would run with, secrets masked, and where
each came from: the flag, then the environment, then the default. An empty
variable counts as unset. PETCAT_DATABASE_FILE can name a file with the URL of the
database. A node that already runs, such as a systemd unit, keeps the settings with
which it was started: --running shows those.`,
		Example: `  petcat config
  petcat config --running --admin-listen 127.0.0.1:8081`,
	}
	registerFlags(cmd)
	running := cmd.Flags().Bool("running", false, "show the settings of the node that runs on this machine, asked at --admin-listen")
	return p.printing(cmd, func(c *call) error {
		settings, err := c.loadSettings(c.cmd)
		if !*running { // prints the settings even if one is wrong: that is when users look at them
			return cmp.Or(c.printSettings(settings.Values), err)
		}
		if err != nil {
			return err
		}
		var values []config.Value
		if _, err := askNode(c.ctx(), settings, "/settings", &values, func() bool { return len(values) > 0 }); err != nil {
			return err
		}
		return c.printSettings(values)
	})
}

func (c *call) printSettings(values []config.Value) error {
	if c.asJSON {
		return c.printJSON(values)
	}
	rows := [][]string{{"FLAG", "ENVIRONMENT", "VALUE", "FROM"}}
	for _, v := range values {
		rows = append(rows, []string{v.Flag, v.Environment, v.Shown(), v.Origin})
	}
	return c.printColumns(rows)
}

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Look for problems on this machine, and say what to do about them",
		GroupID: groupRun,
		Long: `Check what petcat serve needs with the same settings: data, schema, disk and its
sync time, clock, database, the node itself if one runs, listeners, certificate and
backups. Nothing is changed, and a running node is not disturbed.

Prints one line for each finding, which says what to do unless its status is ok. The exit
code is 1 if one of them is a problem, else 0.`,
	}
	registerFlags(cmd)
	return p.printing(cmd, func(c *call) error {
		settings, err := c.storeSettings(c.cmd)
		if err != nil {
			return err
		}
		host, err := os.Hostname()
		if err != nil {
			host = ""
		}
		return c.printDiagnosis(doctor.Examine(c.ctx(), doctor.Options{
			Settings: settings, Clock: c.clock, Place: place(settings), Host: host,
			Open: func(ctx context.Context) (doctor.Store, error) { return c.openStore(ctx, settings, mustExist) },
			Ask: func(ctx context.Context) (server.Readiness, error) {
				r, _, err := askReadiness(ctx, settings)
				return r, err
			},
			Explain: explain,
		}))
	})
}

func (c *call) printDiagnosis(findings []doctor.Finding) error {
	problems, rows := 0, [][]string(nil)
	for _, f := range findings {
		rows = append(rows, []string{string(f.Status), f.Part, f.Text})
		if f.Status == doctor.Problem {
			problems++
		}
	}
	var err error
	if c.asJSON {
		err = c.printJSON(record{{"status", doctor.Worst(findings)}, {"findings", findings}})
	} else {
		err = c.printColumns(rows)
	}
	if err == nil && problems > 0 {
		err = &failure{code: exitFailed, text: fmt.Sprintf("problems were found: %d", problems)}
	}
	return err
}

// resetLevel is the argument that ends a level which was set.
const resetLevel = "reset"

// logLevelCommand changes what running nodes log. Like every management command it writes
// to the data, so only users who may write there can change the level.
func (p *program) logLevelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log-level [LEVEL]",
		Short:   "Show or change the log level of all running nodes, for a time",
		GroupID: groupRun,
		Long: `Change the lowest level that all nodes of the deployment log, while they run: debug,
info, warn or error. They follow within seconds, and so do nodes that start later. After
the time of --for, or after petcat log-level reset, each node logs again as its own
--log-level says.

Without LEVEL the command shows the current level. Changes are in the audit log.`,
		Example: `  petcat log-level warn --for 30m
  petcat log-level reset`,
		ValidArgs: []string{"debug", "info", "warn", "error", resetLevel},
	}
	length := cmd.Flags().String("for", "1h", "`time` after which --log-level applies again, such as 30m")
	return p.managing(cmd, func(c *call) error {
		var level slog.Level
		var until time.Time
		if len(c.args) == 1 && c.args[0] != resetLevel {
			var err error
			if level, until, err = c.parseLogLevel(c.args[0], *length); err != nil {
				return err
			}
		}
		if len(c.args) == 0 {
			if err := c.read(); err != nil {
				return err
			}
		} else if err := c.change(); err != nil {
			return err
		} else if err := c.SetLogLevel(c.ctx(), actor(), level, until); err != nil {
			return c.done(err, nil, "")
		}
		level, until, err := c.LogLevel(c.ctx())
		if err != nil {
			return err
		}
		if !c.now().Before(until) { // each node logs as its settings say
			return c.print(record{{"level", nil}, {"until", nil}}, "Each node logs as its own --log-level says.")
		}
		name := strings.ToLower(level.String())
		return c.print(record{{"level", name}, {"until", until}}, "All nodes log from %s on, until %s. They follow within seconds.", name, timestamp(until))
	})
}

// parseLogLevel reads a level and how long it lasts, and returns when it ends.
func (p *program) parseLogLevel(text, length string) (level slog.Level, until time.Time, err error) {
	level, err = config.ParseLogLevel(text)
	if err != nil {
		return 0, time.Time{}, usageErrorf("LEVEL %v, or %s", err, resetLevel)
	}
	d, err := config.ParseDuration(length)
	if err == nil && d == 0 {
		err = errors.New("must be more than 0")
	}
	if err != nil {
		return 0, time.Time{}, usageErrorf("--for %v", err)
	}
	return level, p.now().Add(d), nil
}

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
or restarted.`, "%[1]s is drained. Bring it back with: petcat node resume %[1]s"),
		p.nodeDrainCommand("resume", false, "Let a drained node get requests again",
			`Let a drained node get requests again: within seconds its /readyz answers 200.`, "%[1]s gets requests again."),
	)
}

func (p *program) nodeListCommand() *cobra.Command {
	return p.reading(&cobra.Command{
		Use:   "list",
		Short: "List the running nodes",
		Long: `List the running nodes with their version and state, and since when they have that state.
The states are those of /readyz: ready, degraded, unavailable, drained, draining (it
stops), starting and failed. A node that was killed is listed for up to 15 seconds.`,
		Example: `  petcat node list
  petcat node list --json`,
	}, func(c *call) error {
		nodes, err := c.Nodes(c.ctx())
		if err != nil {
			return err
		}
		var records []record
		for _, n := range nodes {
			records = append(records, record{{"label", n.Label}, {"version", n.Version}, {"state", n.State}, {"since", n.Since}})
		}
		return c.list(records, "label version state since", "No node is running.")
	})
}

// nodeDrainCommand returns the command that drains or resumes a node.
func (p *program) nodeDrainCommand(name string, drained bool, short, long, done string) *cobra.Command {
	return p.changing(&cobra.Command{
		Use: name + " LABEL", Short: short, Long: long, Example: "  petcat node " + name + " web-2",
	}, func(c *call) error {
		err := c.DrainNode(c.ctx(), actor(), c.args[0], drained)
		return c.done(notFound(err, "list the nodes with: petcat node list"), record{{"label", c.args[0]}, {"drained", drained}}, done, c.args[0])
	})
}

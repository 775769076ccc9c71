package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	neturl "net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/doctor"
	"github.com/petcat-api/petcat/internal/server"
)

// healthTimeout is the timeout for a node's response. The node reads its state from memory, so a
// slower one is not healthy.
const healthTimeout = 2 * time.Second

// listeners returns the settings of the listeners, which are validated together.
func listeners() []string {
	return []string{"listen", "admin-listen", "admin-allow-plaintext", "tls-cert", "tls-key"}
}

// isGiven reports whether a setting was given, by a flag or the environment.
func isGiven(settings config.Settings, flag string) bool {
	return slices.ContainsFunc(
		settings.Values,
		func(v config.Value) bool { return v.Flag == flag && v.Origin != "default" },
	)
}

// nodes returns the running nodes of the data. The first ones, here in number, are on this machine.
// It returns none if the data could not be opened.
func (c *call) nodes() (nodes []petcat.Node, here int) {
	host, _ := os.Hostname()
	if c.db == nil {
		return nil, 0
	}
	nodes, _ = c.store.Nodes(c.ctx()) // on an error, the command falls back to its own settings
	for i, n := range nodes {
		if n.Host == host {
			nodes[i], nodes[here] = nodes[here], n
			here++
		}
	}
	return nodes, here
}

// urlOf returns the URL of a page for browsers: the configured URL, or else the one of a node on this
// machine, or of another node with TLS. It returns "" if there is none, or if the listener was given.
func (c *call) urlOf(set, listener string, of func(petcat.Node) string) string {
	if set != "" || isGiven(c.settings, listener) {
		return set
	}
	nodes, here := c.nodes()
	for i, n := range nodes {
		if url := of(n); i < here || strings.HasPrefix(url, "https://") {
			return url
		}
	}
	return ""
}

// adminURL returns the URL of the admin listener on this machine, from --admin-listen if it was given,
// else from the running node.
func (c *call) adminURL() (string, error) {
	if nodes, here := c.nodes(); here > 0 && !isGiven(c.settings, "--admin-listen") {
		return nodes[0].AdminURL, nil
	}
	return c.settings.AdminURL()
}

// followNode returns all settings of the node that runs on this machine. It also uses them for
// settings that were not given to the command, except for the data's location.
func (c *call) followNode() (values []config.Value, err error) {
	url, err := c.adminURL()
	if err == nil {
		_, err = askNode(c.ctx(), url+"/settings", &values, func() bool { return len(values) > 0 })
	}
	if err != nil {
		return nil, err
	}
	var environ []string
	for _, v := range values {
		if v.Origin != "default" && v.Flag != "--data" && v.Flag != "--database" {
			environ = append(environ, v.Environment+"="+v.Value)
		}
	}
	settings, err := config.Load(c.cmd.Flags(), append(environ, c.environ...))
	if err == nil {
		c.settings = settings
	}
	return values, err
}

// askNode gets JSON from the admin listener on this machine, decodes it into v, and calls valid to
// check it.
func askNode(ctx context.Context, url string, v any, valid func() bool) (status int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, fmt.Errorf("no response within %s", healthTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	client := http.Client{Transport: &http.Transport{
		// The node is on this machine.
		Proxy: nil,
		// The certificate is not valid for this address, and the request does not contain a secret.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // as above
	}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if timeout := context.Cause(ctx); err != nil && timeout != nil {
		return 0, fmt.Errorf("the node at %s hangs (%w); restart it", url, timeout)
	} else if e, ok := errors.AsType[*neturl.Error](err); ok { // the message below has the URL
		return 0, fmt.Errorf(
			"no node responds at %s (%w); start one with petcat serve, or give its address with --admin-listen",
			url, e.Err)
	} else if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil || !valid() {
		return 0, fmt.Errorf(
			"the server at %s is not petcat's admin listener; give its address with --admin-listen", url)
	}
	return response.StatusCode, nil
}

// askReadiness asks the node on this machine for its state.
func askReadiness(ctx context.Context, settings config.Settings) (r server.Readiness, ready bool, err error) {
	url, err := settings.AdminURL()
	if err != nil {
		return r, false, err
	}
	status, err := askNode(ctx, url+"/readyz", &r, func() bool { return r.Status != "" })
	return r, status == http.StatusOK, err
}

// healthCommand asks the node on this machine for its state. It is for scripts, and for images
// without a shell.
func (p *program) healthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "health",
		Short:   "Check whether the node on this machine is ready",
		Example: "  petcat health --json",
		Long: `Check the node that runs on this machine with the same settings. The exit code
is 0 if it is ready or degraded (it serves requests, but a dependency is
unavailable), and 1 if it is not ready or does not respond within 2 s.`,
	}
	registerFlags(cmd, listeners()...)
	return p.printing(cmd, func(c *call) error {
		settings, err := c.loadSettings(c.cmd)
		if err != nil {
			return err
		}
		r, ready, err := askReadiness(c.ctx(), settings)
		if err != nil {
			return err
		}
		parts := record{kv("status", r.Status)}
		for _, part := range slices.Sorted(maps.Keys(r.Checks)) {
			how := r.Checks[part]
			if since, ok := r.Since[part]; ok {
				how += " (since " + timestamp(since) + ")"
			}
			parts = append(parts, kv(part, how))
		}
		if c.asJSON {
			err = c.printJSON(r)
		} else {
			err = c.show(parts)
		}
		if err == nil && !ready {
			err = fmt.Errorf("the node is %s and must not receive requests", r.Status)
		}
		return err
	})
}

// configCommand shows the settings of serve.
func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show the effective settings and the origin of each",
		Example: "  petcat config --running",
		Long: `Show the settings of petcat serve, with secrets masked, and the origin of each:
the flag, then the environment, then the default. An empty variable counts as
unset. A running node keeps the settings that it was started with; --running
shows them.`,
	}
	registerFlags(cmd)
	cmd.Flags().Bool("running", false, "show the settings of the node that runs on this machine")
	return p.printing(cmd, func(c *call) (err error) {
		c.settings, err = c.loadSettings(c.cmd)
		values := c.settings.Values
		if c.is("running") && err == nil {
			_ = c.openData(false)
			values, err = c.followNode()
		}
		if c.is("running") && err != nil {
			return err
		}
		// Print them even if one is invalid, because users then look for the mistake.
		return cmp.Or(c.list(recordsOf(values, func(v config.Value) record {
			return record{
				kv("flag", v.Flag),
				kv("environment", v.Environment),
				kv("value", shown(v.Value, v.Shown())),
				kv("default", v.Default),
				kv("origin", v.Origin),
			}
		}), "flag environment value origin", ""), err)
	})
}

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Check this machine for problems, and show the remedies",
		Example: "  petcat doctor --data /var/lib/petcat",
		Long: `Check whether this machine can run petcat serve, and change nothing. If a node
is running on the same data, use its settings. Each finding that is not ok
names the remedy. The exit code is 1 if there is a problem, else 0.`,
	}
	registerFlags(cmd)
	return p.printing(cmd, func(c *call) (err error) {
		if c.settings, err = c.storeSettings(c.cmd); err != nil {
			return err
		}
		o := doctor.Options{Clock: c.clock, Place: place(c.settings), Explain: explain, Environ: config.Variables(c.environ)}
		if o.OpenErr = c.openData(false); o.OpenErr == nil {
			o.Database, o.Shared = c.db, c.store
		}
		if _, here := c.nodes(); here > 0 { // a node at the default address may use other data
			_, err = c.followNode()
		}
		o.Host, _ = os.Hostname() // "" if unknown
		o.Node, _, o.NodeErr = askReadiness(c.ctx(), c.settings)
		o.NodeErr = cmp.Or(err, o.NodeErr)
		o.Settings = c.settings
		return c.printDiagnosis(doctor.Examine(c.ctx(), o))
	})
}

func (c *call) printDiagnosis(findings []doctor.Finding) error {
	problems := 0
	records := recordsOf(findings, func(f doctor.Finding) record {
		if f.Status == doctor.Problem {
			problems++
		}
		return record{
			kv("part", f.Part),
			kv("status", f.Status),
			kv("text", f.Text),
		}
	})
	var err error
	if c.asJSON {
		err = c.printJSON(record{kv("status", doctor.Worst(findings)), kv("findings", records)})
	} else {
		err = c.list(records, "status part text", "")
	}
	if err == nil && problems > 0 {
		err = fmt.Errorf("problems found: %d", problems)
	}
	return err
}

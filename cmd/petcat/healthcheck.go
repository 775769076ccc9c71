package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	neturl "net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petcat/internal/server"
)

// healthTimeout is how long a node may take to answer. Its state is in memory, so a node
// that takes longer is not healthy.
const healthTimeout = 2 * time.Second

// errNoAnswer is the error for a node that takes longer than healthTimeout.
var errNoAnswer = fmt.Errorf("no answer within %s", healthTimeout)

// maxAdminAnswer is far above the size of any answer of a node, in bytes.
const maxAdminAnswer = 64 << 10

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
		Args: arguments(),
	}
	// The settings of the listeners are checked together.
	registerFlags(cmd, "listen", "admin-listen", "admin-allow-plaintext", "tls-cert", "tls-key")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := p.loadSettings(cmd)
		if err != nil {
			return err
		}
		url, err := settings.AdminURL()
		if err != nil {
			return err
		}
		r, ready, err := askReadiness(cmd.Context(), url+"/readyz")
		if err != nil {
			return err
		}
		if err := p.printReadiness(r, *asJSON); err != nil {
			return err
		}
		if !ready {
			return &failure{code: exitFailed, text: fmt.Sprintf("the node is %s: send it no requests", r.Status)}
		}
		return nil
	}
	return cmd
}

// askReadiness asks a node for its state.
func askReadiness(ctx context.Context, url string) (r server.Readiness, ready bool, err error) {
	status, err := askNode(ctx, url, &r)
	if err == nil && r.Status == "" {
		err = notAdminError(url)
	}
	return r, status == http.StatusOK, err
}

// askNode gets JSON from the admin listener of a node, and decodes it into v.
func askNode(ctx context.Context, url string, v any) (status int, err error) {
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
	if err != nil {
		return 0, notAdminError(url)
	}
	return answer.StatusCode, nil
}

func notAdminError(url string) error {
	return fmt.Errorf("the server at %s is not petcat's admin listener; give its address with --admin-listen", url)
}

func (p *program) printReadiness(r server.Readiness, asJSON bool) error {
	if asJSON {
		return p.printJSON(r)
	}
	rows := [][]string{{"status", r.Status}}
	for _, part := range slices.Sorted(maps.Keys(r.Checks)) {
		how := r.Checks[part]
		if since, ok := r.Since[part]; ok {
			how += " (since " + timestamp(since) + ")"
		}
		rows = append(rows, []string{part, how})
	}
	return p.printColumns(rows)
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/console"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/portal"
	"github.com/petcat-api/petcat/internal/server"
	"github.com/petcat-api/petcat/internal/store"
)

func (p *program) serveCommand() *cobra.Command {
	return p.serving(&cobra.Command{
		Use:     "serve",
		Short:   "Run the service",
		Example: "  petcat serve --data /var/lib/petcat",
		Long: `Run the service until it receives SIGTERM or SIGINT. /readyz then returns 503. A
second later, the service stops accepting connections, finishes the requests in
flight and closes its database. A second signal stops it immediately. On a
terminal, SIGHUP also stops it; otherwise, SIGHUP is only logged. The files of
--tls-cert and --tls-key are reloaded when they change, without a signal.

If there is no deployment at --data or --database, serve creates one for
--environment, unless --init is false.`,
	}, func(c *call) error { return c.serve(func(*server.Node) error { return nil }) })
}

// serving completes a command that runs the service, and loads its settings.
func (p *program) serving(cmd *cobra.Command, run func(*call) error) *cobra.Command {
	registerFlags(cmd)
	return p.command(cmd, func(c *call) (err error) {
		c.settings, err = config.Load(cmd.Flags(), c.environ)
		c.openLog()
		defer func() { _ = c.log.Close() }()
		for _, text := range c.settingWarnings(cmd, err == nil) {
			c.log.Warn("questionable setting", "problem", text)
		}
		if err == nil {
			err = run(c)
		}
		return c.logExit(err)
	})
}

// openLog opens the log, even if the settings have mistakes.
func (c *call) openLog() {
	format := c.settings.LogFormat
	for _, v := range c.settings.Values { // all that there is if the settings have mistakes
		if v.Flag == "--log-format" {
			format = cmp.Or(format, v.Value)
		}
	}
	switch {
	case format != "":
	case c.isTerminal(c.stderr):
		format = string(logging.Text)
	default:
		format = string(logging.JSON)
	}
	c.settings.LogFormat = format
	c.log = logging.New(c.stderr, c.settings.LogLevel, logging.Format(format))
	// The HTTP client that sends traces and metrics uses the default logger.
	log.SetFlags(0)                         //nolint:forbidigo // as above
	log.SetOutput(c.log.Library().Writer()) //nolint:forbidigo // as above
}

// logExit logs the error that stops the service, in the log's format, so that log collectors keep it.
// On a terminal, a person reads the sentence that other commands print.
func (c *call) logExit(err error) error {
	if err == nil || c.settings.LogFormat == string(logging.Text) && c.isTerminal(c.stderr) {
		return err
	}
	c.log.Error("exiting", "error", explain(err), "exit_code", exitCode(err))
	return &loggedError{err}
}

// loggedError is an error that was already logged.
type loggedError struct{ error }

func (e *loggedError) Unwrap() error { return e.error }

// serve runs the service until a signal or a fatal error. It calls ready when the node is ready.
func (c *call) serve(ready func(*server.Node) error) error {
	outliveReaders()
	ends := []os.Signal{syscall.SIGTERM, os.Interrupt}
	hangup := make(chan os.Signal, 1)
	if c.isTerminal(c.stdin) || c.isTerminal(c.stdout) || c.isTerminal(c.stderr) {
		ends = append(ends, syscall.SIGHUP) // the terminal was closed
	} else {
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
	}
	ctx, stop := signal.NotifyContext(c.ctx(), ends...)
	defer stop()

	environ := config.Variables(c.environ)
	n, err := server.Start(ctx, server.Options{
		Settings: c.settings,
		Clock:    c.clock,
		Log:      c.log,
		Version:  build().Version,
		Revision: build().Revision,
		Environ:  environ,
	})
	if err != nil && ctx.Err() != nil {
		return nil // stopped by a signal during the start
	} else if err != nil {
		return err
	}
	if environ["GOGC"] == "" { // else the operator has decided
		tuneCollector(ctx)
	}
	if err = ready(n); err == nil {
		err = n.Run(ctx, hangup)
	}
	// A second signal must kill the process, so remove the handler before /readyz reports
	// draining. If the node stops without a signal, the handler stays until the first one.
	if ctx.Err() != nil {
		stop()
	}
	context.AfterFunc(ctx, stop)
	return errors.Join(err, n.Shutdown(ctx))
}

// devAccount is the name of the account and of the operator of petcat dev. devKeyFile in the data
// directory contains the key, which each start shows.
const (
	devAccount = "dev"
	devKeyFile = "dev-key"
)

func (p *program) devCommand() *cobra.Command {
	return p.serving(&cobra.Command{
		Use:     "dev",
		Short:   "Run the service to try it out, with an account and a key",
		Example: "  petcat dev",
		Long: `Run the service to try it out, with an account named dev on the Free plan, its
key, and an operator named dev. The key is stored in the data directory,
readable only by this user, and printed at each start with example requests and
links to the customer's page and the console. Do not use it in production.`,
	}, func(c *call) error {
		c.settings.CustomerPages = c.settings.CustomerPages || !isGiven(c.settings, "--customer-pages")
		return c.serve(c.welcome)
	})
}

// welcome prints the URLs, the key, a link to the console and example requests.
func (c *call) welcome(n *server.Node) error {
	account, key, err := c.devKey(n)
	if err != nil {
		return err
	}
	customer, operator, err := c.devLinks(n, account.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, `
petcat is ready at %[1]s/v1

  API key    %[2]s
             (account %[3]s on the %[8]s plan: %[9]s requests per minute, %[10]s per day;
             kept in %[4]s; for programs:
             export PETCAT_API_KEY=$(cat %[4]s))

Try it:

  curl -i -H 'Authorization: Bearer %[2]s' %[1]s/v1/categories

  curl -i -H 'Authorization: Bearer %[2]s' -H 'Content-Type: application/json' \
       -H 'Idempotency-Key: my-shop-category-17' \
       -d '{"name":"Ferrets","description":"Domestic ferrets"}' %[1]s/v1/categories

  Reference  %[1]s/docs
  Your page  %[6]s
  Console    %[7]s
             (links that sign you in once, within 15 minutes)
  Metrics    %[5]s/metrics

Stop it with Ctrl-C.

`,
		n.PublicURL(),
		key.Reveal(),
		account.Name,
		filepath.Join(c.settings.Data, devKeyFile),
		n.AdminURL(),
		customer,
		operator,
		account.Plan,
		humanize.Comma(account.Quota.PerMinute),
		humanize.Comma(account.Quota.PerDay))
	return err
}

// devLinks returns links to the customer's page of an account, and to the console for the operator
// dev, which it creates if needed.
func (c *call) devLinks(n *server.Node, account petcat.AccountID) (customer, operator string, err error) {
	forCustomer, err := petcat.GenerateToken(c.random)
	forOperator, otherErr := petcat.GenerateToken(c.random)
	if err = errors.Join(err, otherErr); err != nil {
		return "", "", err
	}
	by := petcat.By(actor())
	if _, err = n.Store().CreateLink(c.ctx(), by, petcat.Subject{Account: account}, forCustomer.Hash); err != nil {
		return "", "", err
	}
	_, err = n.Store().CreateLink(c.ctx(), by, petcat.Subject{Operator: devAccount}, forOperator.Hash)
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		_, err = n.Store().CreateOperator(c.ctx(), by, devAccount, petcat.RoleAdmin, forOperator.Hash)
	}
	return portal.Link(n.PublicURL(), forCustomer.Secret), console.SignInLink(n.ConsoleURL(), forOperator.Secret), err
}

// devNode is a running node.
type devNode interface {
	Identify(ctx context.Context, key petcat.Secret) (petcat.AccountID, error)
	Store() *store.Store
}

// devKey returns the key in the file and its account, which may have been renamed. If the key is not
// valid, devKey creates one for the account dev and writes it into the file.
func (c *call) devKey(n devNode) (account petcat.Account, key petcat.Secret, err error) {
	path := filepath.Join(c.settings.Data, devKeyFile)
	text, err := os.ReadFile(path) // #nosec G304 -- the operator's own data directory
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return account, key, fmt.Errorf("the key of the account %s cannot be read: %w", devAccount, err)
	}
	key = petcat.NewSecret(strings.TrimSpace(string(text)))
	id, err := n.Identify(c.ctx(), key)
	if err == nil {
		account, err = n.Store().FindAccount(c.ctx(), id.String())
		return account, key, err
	}
	if petcat.CodeOf(err) == petcat.CodeServiceUnavailable { // the key may be valid
		return account, key, err
	}
	account, err = n.Store().FindAccount(c.ctx(), devAccount)
	if petcat.CodeOf(err) == petcat.CodeNotFound || err == nil && account.Closed() {
		var free petcat.Subscription
		if free, err = petcat.ParseSubscription(string(petcat.Free), petcat.Quota{}, petcat.Storage{}); err == nil {
			var made petcat.Result[petcat.Account]
			made, err = n.Store().CreateAccount(c.ctx(), petcat.By(actor()), petcat.NewAccount{Name: devAccount, Subscription: free})
			account = made.Value
		}
	}
	if err != nil {
		return account, key, err
	}
	asked, key, err := c.keys(n.Store().Environment()).NewKey(
		account.ID,
		petcat.KeyTerms{Label: "made by petcat dev"},
	)
	if err == nil {
		_, err = n.Store().CreateKey(c.ctx(), petcat.By(actor()), asked)
	}
	if err != nil {
		return account, key, err
	}
	// #nosec G703 -- the operator's own data directory
	return account, key, os.WriteFile(path, []byte(key.Reveal()+"\n"), 0o600)
}

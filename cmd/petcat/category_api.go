package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petcat/client"
	"petcat/internal/config"
)

// api calls a service through its API.
type api struct {
	program *program
	url     string
}

// apiFlags adds the flags of a command that calls a service. None of them is the key: other
// users of the machine could see it.
func (p *program) apiFlags(cmd *cobra.Command) *api {
	a := &api{program: p}
	cmd.Flags().StringVar(&a.url, "url", "", "`URL` of the service (PETCAT_URL, default "+config.DefaultServiceURL+")")
	return a
}

// dial returns a client of the service. It sends nothing.
func (a *api) dial(options ...client.Option) (*client.Client, config.Service, error) {
	service, err := config.LoadService(a.url, a.program.environ)
	if err != nil {
		return nil, service, err
	}
	options = append(options, client.WithUserAgent("petcat/"+build().Version))
	c, err := client.New(service.URL, service.Key.Reveal(), options...)
	if err != nil {
		return nil, service, config.Errorf("--url (PETCAT_URL) or PETCAT_API_KEY cannot be used: %s", apiText(err))
	}
	return c, service, nil
}

// call runs fn for a user who waits: its client gives up soon, and the error says why.
func (a *api) call(ctx context.Context, fn func(context.Context, *client.Client) error) error {
	c, service, err := a.dial(client.WithRetries(2), client.WithMaxWait(2*time.Second))
	if err != nil {
		return err
	}
	return explainAPI(fn(ctx, c), service)
}

// explainAPI turns an error of the client into one that says what to do and has an exit
// code. It returns other errors unchanged.
func explainAPI(err error, service config.Service) error {
	e, answered := errors.AsType[*client.Error](err)
	lost, transport := errors.AsType[*neturl.Error](err)
	untrusted, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if err == nil || errors.Is(err, context.Canceled) || !answered && !transport {
		return err
	}
	f := &failure{code: exitFailed, text: apiText(err), cause: err}
	switch {
	case isUntrusted:
		f.code = exitTryLater
		f.text = fmt.Sprintf("the service at %s shows a certificate that is not accepted (%s); check --url (PETCAT_URL), or try again when it is renewed",
			service.URL, strings.TrimPrefix(untrusted.Err.Error(), "x509: "))
	case transport && !answered && !errors.Is(err, client.ErrOutcomeUnknown):
		f.code = exitTryLater
		f.text = fmt.Sprintf("no service answers at %s (%s); check --url (PETCAT_URL), or try again later", service.URL, strings.TrimPrefix(lost.Err.Error(), "net/http: "))
	case !answered, e.Status >= http.StatusInternalServerError:
		f.code = exitTryLater
	case e.Status == http.StatusTooManyRequests:
		f.code = exitTryLater
		if !e.NotSent { // otherwise the text of the error already says it
			f.text += fmt.Sprintf("; try again in %s", e.RetryAfter)
		}
	case e.Status == http.StatusUnauthorized:
		f.text += "; put a valid key of this service into PETCAT_API_KEY"
	}
	return f
}

// apiText returns the text of an error of the client without "petcat: ", because every
// message of this program already begins with it.
func apiText(err error) string { return strings.Replace(err.Error(), "petcat: ", "", 1) }

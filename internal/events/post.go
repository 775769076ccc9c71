package events

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/petcat-api/petcat"
)

// message is a signed event.
type message struct {
	id   string // the same in all attempts
	at   time.Time
	body []byte
}

// signature returns the value of webhook-signature, by Standard Webhooks 1.0.0: one for each secret.
func (m message) signature(secrets []petcat.Secret) (string, error) {
	var all []string
	for _, secret := range secrets {
		key, err := petcat.WebhookKey(secret)
		if err != nil {
			return "", errors.New("a secret of the webhook is damaged; rotate it") // without its text
		}
		h := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(h, "%s.%d.%s", m.id, m.at.Unix(), m.body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
	return strings.Join(all, " "), nil
}

// receivers sends messages to receivers, at addresses that the networks allow.
type receivers struct {
	plain, secure *http.Client // without TLS, and with it
	timeout       time.Duration
}

func newReceivers(networks petcat.WebhookNetworks, timeout time.Duration) *receivers {
	return &receivers{
		plain:   newClient(networks, true),
		secure:  newClient(networks, false),
		timeout: timeout,
	}
}

// newClient returns a client that connects only to addresses that the networks allow. It checks the
// resolved address, so a name cannot resolve to another address after the check. A proxy would resolve
// the name itself, so the client does not use one.
func newClient(networks petcat.WebhookNetworks, plain bool) *http.Client {
	dialer := &net.Dialer{
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return networks.Check(to.Addr(), plain)
		},
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			IdleConnTimeout:        30 * time.Second,
			MaxIdleConnsPerHost:    1,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post sends a message, and returns the status and the start of the response. Without a response, the
// status is 0 and the text says why.
func (r *receivers) post(ctx context.Context, to string, m message, signature string) (status int, text string) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(m.body))
	if err != nil {
		return 0, "the URL of the webhook is not valid"
	}
	h := request.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "petcat")
	h.Set("Webhook-Id", m.id)
	h.Set("Webhook-Timestamp", strconv.FormatInt(m.at.Unix(), 10))
	h.Set("Webhook-Signature", signature)
	client := r.secure
	if request.URL.Scheme == "http" {
		client = r.plain
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, r.reason(err)
	}
	defer func() { _ = response.Body.Close() }()
	beginning, _ := io.ReadAll(io.LimitReader(response.Body, petcat.MaxResponse)) // the status is enough
	return response.StatusCode, printable(string(beginning))
}

// reason returns why there is no response, without the URL, which may contain a secret.
func (r *receivers) reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no response within %s", r.timeout)
	}
	if blocked, ok := errors.AsType[*petcat.Error](err); ok {
		return blocked.Message
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	text := printable(err.Error())
	return text[:min(len(text), petcat.MaxResponse)]
}

// printable replaces what is not visible ASCII by spaces: a receiver may send anything.
func printable(text string) string {
	visible := func(c rune) rune {
		if c < ' ' || c > '~' {
			return ' '
		}
		return c
	}
	return strings.TrimSpace(strings.Map(visible, text))
}

// close closes the idle connections.
func (r *receivers) close() {
	r.plain.CloseIdleConnections()
	r.secure.CloseIdleConnections()
}

package wrk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Offered is what became of requests that were sent at a rate.
type Offered struct {
	Sent     int           // within Duration
	Good     int           // answered in Duration with the status that was asked for
	Refused  int           // answered with 503 and Retry-After
	Duration time.Duration // in which they were sent
	// Latencies of the good ones, and of the refusals.
	P50, P99, RefusedP50, RefusedP99 time.Duration
}

// Clients send the same request, of which each is to be answered with the same status or
// refused. They keep their connections.
type Clients struct {
	request Request
	body    []byte
	good    int
	client  *http.Client
}

// NewClients returns clients of a request. The caller must close them.
func NewClients(r Request, good int) (*Clients, error) {
	body, err := os.ReadFile(r.BodyFile)
	transport := &http.Transport{MaxIdleConnsPerHost: 1 << 14}
	return &Clients{request: r, body: body, good: good, client: &http.Client{Timeout: time.Minute, Transport: transport}}, err
}

// Close closes their connections.
func (c *Clients) Close() { c.client.CloseIdleConnections() }

// Offer sends requests at a rate, whether earlier ones are answered or not, as many
// clients that do not know of each other do; wrk's wait for their answers. Without a rate
// it does the same as wrk. It returns when all are answered, and an error when one is
// answered with neither the status that is good nor a refusal.
func (c *Clients) Offer(ctx context.Context, l Load, perSecond float64) (Offered, error) {
	begin := time.Now()
	o := &offering{Clients: c, end: begin.Add(l.Duration)}
	var all sync.WaitGroup
	if perSecond == 0 {
		for range l.Connections {
			all.Go(func() {
				for ctx.Err() == nil && time.Now().Before(o.end) {
					o.send(ctx)
				}
			})
		}
	} else {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for sent := 0.0; ctx.Err() == nil && time.Now().Before(o.end); <-tick.C {
			for ; sent < time.Since(begin).Seconds()*perSecond; sent++ {
				all.Go(func() { o.send(ctx) })
			}
		}
	}
	all.Wait()
	return o.result(l.Duration), errors.Join(ctx.Err(), o.failed)
}

// offering is requests under way.
type offering struct {
	*Clients
	end time.Time

	mu                  sync.Mutex
	sent, inTime        int             // guarded by mu
	answered, refusedIn []time.Duration // guarded by mu
	failed              error           // guarded by mu; the first
}

func (o *offering) send(ctx context.Context) {
	begun := time.Now()
	status, wait, err := o.ask(ctx)
	took := time.Since(begun)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent++
	switch {
	case err == nil && status == o.good:
		o.answered = append(o.answered, took)
		if begun.Add(took).Before(o.end) {
			o.inTime++
		}
	case err == nil && status == http.StatusServiceUnavailable && wait != "":
		o.refusedIn = append(o.refusedIn, took)
	case o.failed == nil:
		o.failed = fmt.Errorf("%s: status %d, Retry-After %q, %w", o.request.URL, status, wait, err)
	}
}

func (o *offering) ask(ctx context.Context) (status int, wait string, err error) {
	r, err := http.NewRequestWithContext(ctx, o.request.Method, o.request.URL, strings.NewReader(string(o.body)))
	if err != nil {
		return 0, "", err
	}
	for _, line := range o.request.Header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	res, err := o.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Retry-After"), errors.Join(err, res.Body.Close())
}

func (o *offering) result(d time.Duration) Offered {
	at := func(took []time.Duration, q float64) time.Duration {
		if len(took) == 0 {
			return 0
		}
		return took[int(q*float64(len(took)-1))]
	}
	slices.Sort(o.answered)
	slices.Sort(o.refusedIn)
	return Offered{
		Sent: o.sent, Good: o.inTime, Refused: len(o.refusedIn), Duration: d,
		P50: at(o.answered, 0.5), P99: at(o.answered, 0.99), RefusedP50: at(o.refusedIn, 0.5), RefusedP99: at(o.refusedIn, 0.99),
	}
}

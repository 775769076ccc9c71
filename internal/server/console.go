package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"petcat/internal/clientnet"
	"petcat/internal/console"
	"petcat/internal/metrics"
	"petcat/internal/ratelimit"
)

// answerConsole answers with a page of the console, or with 503 until the data is loaded.
func (n *Node) answerConsole(w http.ResponseWriter, r *http.Request) {
	if c := n.console.Load(); c != nil {
		c.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, "petcat is starting; load the page again in a moment", http.StatusServiceUnavailable)
}

// consoleByTLS reports whether browsers reach the console over TLS.
func (n *Node) consoleByTLS() bool {
	return n.settings.AdminTLS() || strings.HasPrefix(n.settings.ConsoleURL, "https://")
}

// ConsoleURL returns where browsers find the console: the one that was set, or where the
// admin listener can be reached from this machine.
func (n *Node) ConsoleURL() string { return cmp.Or(n.settings.ConsoleURL, n.AdminURL()) }

// serveConsole makes the console, and starts to record what its charts show.
func (n *Node) serveConsole(context.Context) error {
	series := n.metrics.Series(n.clock.Read().Time())
	n.every(func() time.Duration { return metrics.Step }, func(context.Context) {
		series.Take(n.clock.Read().Time(), slices.Sorted(maps.Keys(n.condition().problems)))
	})
	var settings []console.Setting
	for _, v := range n.settings.Values {
		settings = append(settings, console.Setting{Flag: v.Flag, Variable: v.Environment, Value: v.Shown(), Origin: v.Origin})
	}
	n.console.Store(console.New(console.Options{
		Store: n.backend, List: n.backend.list, Limiter: n.limiter, Environment: n.backend.Environment(), Version: n.version, Deployment: n.backend.Dataset(),
		Node: n.id, Parts: n.parts, Nodes: n.membership.current, History: func(span console.Span) []console.Step { return steps(series, span) },
		Settings: settings, Secure: n.consoleByTLS(), OwnName: func(host string) bool { return n.isOwnName(host) || n.isConsoleURL(host) },
		Failures:       ratelimit.NewBucket[clientnet.Net](n.clock, console.FailuresPerMinute),
		TrustedProxies: n.apiOptions.TrustedProxies,
		Clock:          n.clock, Logger: n.log.Logger, Random: rand.Reader,
	}))
	return nil
}

// steps returns the series as the console shows it.
func steps(series *metrics.Series, span console.Span) []console.Step {
	points := series.Last(360, 1) // an hour by 10 s
	if span == console.Day {
		points = series.Last(288, 30) // by 5 min
	}
	all := make([]console.Step, len(points))
	for i, p := range points {
		s := console.Step{
			End: p.End, Took: p.Took, Good: p.Answers[1] + p.Answers[2] + p.Answers[3], Failed: p.Answers[5],
			Reasons: p.Refused, P50: p.Quantile(0.5), P99: p.Quantile(0.99), Unhealthy: p.Unhealthy,
		}
		for _, n := range p.Refused {
			s.Refused += n
		}
		s.Faulty = max(0, p.Answers[4]-s.Refused)
		all[i] = s
	}
	return all
}

// parts returns the state of each part of the node.
func (n *Node) parts() (all []console.Part) {
	problems := n.condition().problems
	for _, part := range parts() {
		all = append(all, console.Part{Name: part, Problem: problems[part]})
	}
	return all
}

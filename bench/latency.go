package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// protocol is how a loader and a server talk.
type protocol struct {
	name       string
	tls, http2 bool
}

// latency is one row of the latency table.
type latency struct {
	outcome

	what     string
	nodes    int // 1: on SQLite; else on PostgreSQL
	protocol protocol
	ceiling  float64 // the highest rate of the loader, with an idle server
	highest  float64 // of petcat: the rate of 64 connections that always send, also for a yardstick
	share    float64 // the rate that was sent, as a part of highest
	cpu      time.Duration
}

func (l latency) name() string {
	if l.nodes == 1 {
		return l.what
	}
	return fmt.Sprintf("%s, %d nodes on PostgreSQL", l.what, l.nodes)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// shares are the measured parts of the highest rate.
func shares() []float64 { return []float64{0.3, 0.5, 0.7} }

// latencyTime is how long each rate is sent.
func latencyTime(quick bool) time.Duration {
	if quick {
		return time.Second
	}
	return 10 * time.Second
}

func (b *bench) latencyHTTP1(ctx context.Context) error {
	return b.latency(ctx, protocol{name: "HTTP/1.1"})
}

func (b *bench) latencyTLS(ctx context.Context) error {
	err := b.latency(ctx, protocol{name: "HTTP/1.1, TLS 1.3", tls: true})
	b.latencyBounds()
	return err
}

func (b *bench) latencyHTTP2(ctx context.Context) error {
	return b.latency(ctx, protocol{name: "HTTP/2, TLS 1.3", tls: true, http2: true})
}

// latency measures latencies at constant rates. The loader and the servers have separate cores.
func (b *bench) latency(ctx context.Context, p protocol) (err error) {
	b.loaderCores, b.serverCores = b.halves[0], b.halves[1]
	defer func() { b.loaderCores, b.serverCores, b.certificate = "", "", "" }()
	if p.tls {
		if b.certificate, err = b.newCertificate(ctx); err != nil {
			return err
		}
	}
	for _, nodes := range []int{1, 2} {
		if err := b.latencies(ctx, p, nodes); err != nil {
			return err
		}
		b.stop()
	}
	return nil
}

// latencies measures all requests with one protocol and one number of nodes. It sends the yardsticks the
// same rates: their latencies are those of the loader and the machine.
func (b *bench) latencies(ctx context.Context, p protocol, nodes int) error {
	all, err := b.nodes(ctx, fmt.Sprintf("latency-%s-%d", p.name, nodes), nodes)
	if err != nil {
		return err
	}
	bare, err := b.smallest(ctx, all[0].list(), "")
	if err != nil {
		return err
	}
	smallest, err := b.smallest(ctx, all[0].create(), all[0].dir)
	if err != nil {
		return err
	}
	loader := b.attackOf(p, []vegeta.Target{bare.target()})
	ceiling, err := b.attack(ctx, loader)
	if err != nil {
		return err
	}
	// The list of ten comes before creates, which make it longer.
	for _, m := range []struct {
		what      string
		yardstick string
		request   request // to the yardstick
	}{
		{"list of 10", "bare: list of 10", bare},
		{what: "nine pages of 10 to one create"},
		{"durable create", "smallest: durable create", smallest},
	} {
		l := latency{what: m.what, nodes: nodes, protocol: p, ceiling: ceiling.Rate}
		a := b.attackOf(p, targets(all, m.what))
		highest, err := b.attack(ctx, a)
		if err != nil {
			return err
		}
		l.highest = highest.Rate
		if err := b.rates(ctx, l, a, all); err != nil {
			return err
		}
		if m.yardstick == "" || nodes > 1 {
			continue
		}
		l.what = m.yardstick
		if err := b.rates(ctx, l, b.attackOf(p, []vegeta.Target{m.request.target()}), nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) attackOf(p protocol, targets []vegeta.Target) attack {
	return attack{Targets: targets, Duration: latencyTime(b.quick), HTTP2: p.http2}
}

// targets returns the requests to send in turns.
func targets(nodes []*node, what string) (all []vegeta.Target) {
	for _, n := range nodes {
		switch what {
		case "list of 10":
			all = append(all, n.list().target())
		case "durable create":
			all = append(all, n.create().target())
		default:
			page := n.list()
			page.url += "?limit=10"
			for range 9 {
				all = append(all, page.target())
			}
			all = append(all, n.create().target())
		}
	}
	return all
}

// rates measures latencies at parts of the highest rate.
func (b *bench) rates(ctx context.Context, l latency, a attack, nodes []*node) (err error) {
	for _, l.share = range shares() {
		a.PerSecond = l.share * l.highest
		before := cpuOf(nodes)
		if l.outcome, err = b.attack(ctx, a); err != nil {
			return fmt.Errorf("%s, %s: %w", l.name(), l.protocol.name, err)
		}
		l.cpu = (cpuOf(nodes) - before) / time.Duration(l.Sent)
		say("   %s, %s: %s, p50 %s, p99 %s, p99.9 %s", l.name(), l.protocol.name, format(l.Rate, "/s"), l.P50, l.P99, l.P999)
		b.report.latencies = append(b.report.latencies, l)
	}
	return nil
}

// cpuOf returns the CPU time that nodes have used.
func cpuOf(nodes []*node) (sum time.Duration) {
	for _, n := range nodes {
		sum += n.cpu()
	}
	return sum
}

// latencyBounds adds the rows with a bound.
func (b *bench) latencyBounds() {
	for _, l := range b.report.latencies {
		if l.share != 0.7 || l.protocol.name != "HTTP/1.1, TLS 1.3" {
			continue
		}
		most := map[string]float64{"list of 10": 5, "durable create": 20}[l.what]
		switch {
		case most == 0 || l.nodes > 1 && l.what != "list of 10":
			continue
		case l.nodes > 1:
			most = 10
		case l.what == "list of 10":
			cores := float64((runtime.NumCPU() + 1) / 2)
			b.report.value("list of 10 over TLS 1.3, each core", "/s", l.highest/cores, atLeast(12_000))
		}
		b.report.value(l.name()+" over TLS 1.3: p99 at 70 % of the highest rate", "ms", milliseconds(l.P99), atMost(most))
	}
}

// halves returns the cores of the loader and of the servers; both are "" on one core.
func halves() [2]string {
	n := runtime.NumCPU()
	if n == 1 {
		return [2]string{}
	}
	return [2]string{fmt.Sprintf("0-%d", n/2-1), fmt.Sprintf("%d-%d", n/2, n-1)}
}

// newCertificate writes a certificate and its key to a file.
func (b *bench) newCertificate(ctx context.Context) (file string, err error) {
	const generate = `go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -host localhost -ecdsa-curve P256 &&
		cat cert.pem key.pem >both.pem`
	cmd := exec.CommandContext(ctx, "sh", "-c", generate)
	cmd.Dir = b.work
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make a certificate: %w: %s", err, out)
	}
	return filepath.Join(b.work, "both.pem"), nil
}

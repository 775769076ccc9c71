package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// warmUp is the time before an attack in which 64 workers always send. It opens the connections, and
// is not measured.
const warmUp = time.Second

// attack is what a loader sends.
type attack struct {
	Targets   []vegeta.Target // in turns
	PerSecond float64         // requests; 0: as fast as 64 connections allow
	Duration  time.Duration   // after the warm-up
	HTTP2     bool
}

// outcome is the result of an attack.
type outcome struct {
	Rate           float64 // of responses
	P50, P99, P999 time.Duration
	Sent           int // requests, also in the warm-up
	Failed         int // requests without a response, or with another status than 2xx; not in the rest
}

// target returns the request for a loader.
func (r request) target() vegeta.Target {
	return vegeta.Target{Method: r.method, URL: r.url, Header: r.headers(), Body: []byte(r.body)}
}

// at returns the time of a request after the start.
func (a attack) at(number uint64) time.Duration {
	return time.Duration(float64(number) / a.PerSecond * float64(time.Second))
}

// Pace implements [vegeta.Pacer]: it returns how long to wait until the next request, and whether there
// is none. At a rate, all requests are sent, even late.
func (a attack) Pace(elapsed time.Duration, sent uint64) (wait time.Duration, stop bool) {
	if a.PerSecond == 0 {
		return 0, elapsed >= a.Duration
	}
	at := a.at(sent)
	return at - elapsed, at >= a.Duration
}

// Rate implements [vegeta.Pacer].
func (a attack) Rate(time.Duration) float64 { return a.PerSecond }

// attack runs a loader in its own process, on its own cores.
func (b *bench) attack(ctx context.Context, a attack) (o outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return o, err
	}
	var complaint bytes.Buffer
	path, args := pinned(b.loaderCores, self, "load")
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=2GiB") // collections would delay requests
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &complaint
	out, err := cmd.Output()
	if err != nil {
		return o, fmt.Errorf("loader: %w: %s", err, complaint.String())
	}
	return o, json.Unmarshal(out, &o)
}

// load is the process of a loader: it reads an attack, and writes its outcome.
func load(in io.Reader, out io.Writer) error {
	var a attack
	if err := json.NewDecoder(in).Decode(&a); err != nil {
		return err
	}
	var protocols http.Protocols
	protocols.SetHTTP1(!a.HTTP2)
	protocols.SetHTTP2(a.HTTP2)
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: connections,
		Protocols:           &protocols,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}, //nolint:gosec // of this run
	}}
	var o outcome
	for range (attack{Targets: a.Targets, Duration: warmUp}).start(client) {
		o.Sent++
	}
	var m vegeta.Metrics
	var problem string
	begun := time.Now()
	for r := range a.start(client) {
		o.Sent++
		if r.Error != "" {
			problem = r.Error
			o.Failed++
			continue
		}
		if a.PerSecond > 0 {
			// A late request waits from its time on: a slow server cannot hide by slowing the loader.
			end := r.End()
			r.Timestamp = begun.Add(a.at(r.Seq))
			r.Latency = max(0, end.Sub(r.Timestamp))
		}
		m.Add(r)
	}
	m.Close()
	if m.Requests == 0 {
		return errors.New("all requests failed: " + problem)
	}
	o.Rate, o.P50, o.P99, o.P999 = m.Throughput, m.Latencies.P50, m.Latencies.P99, m.Latencies.Quantile(0.999)
	return json.NewEncoder(out).Encode(o)
}

// start starts 64 workers. More would open connections whenever they are late, and make it worse.
func (a attack) start(client *http.Client) <-chan *vegeta.Result {
	attacker := vegeta.NewAttacker(
		vegeta.Client(client), vegeta.Workers(connections), vegeta.MaxWorkers(connections))
	return attacker.Attack(vegeta.NewStaticTargeter(a.Targets...), a, 0, "")
}

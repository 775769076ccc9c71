package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// warmUp is the first part of an attack, which opens the connections and is not measured.
const warmUp = time.Second

// attack is what a loader sends.
type attack struct {
	Targets  []vegeta.Target // in turns
	Rate     float64         // requests a second; 0: as fast as 64 connections allow
	Duration time.Duration   // after the warm-up
	HTTP2    bool
}

// outcome is the result of an attack.
type outcome struct {
	Rate           float64 // of responses
	P50, P99, P999 time.Duration
}

// target returns the request for a loader.
func (r request) target() vegeta.Target {
	return vegeta.Target{Method: r.method, URL: r.url, Header: r.headers(), Body: []byte(r.body)}
}

// attack runs a loader in a process of its own, on cores of its own.
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
	cmd.Env = append(os.Environ(), "GOGC=800") // collections would delay requests
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &complaint
	out, err := cmd.Output()
	if err != nil {
		return o, fmt.Errorf("loader: %w: %s", err, complaint.String())
	}
	return o, json.Unmarshal(out, &o)
}

// load is the process of a loader: it reads an attack, and writes its outcome. A response other than
// 2xx is an error.
func load(in io.Reader, out io.Writer) error {
	var a attack
	if err := json.NewDecoder(in).Decode(&a); err != nil {
		return err
	}
	workers, pacer := uint64(4096), vegeta.ConstantPacer{Freq: int(a.Rate), Per: time.Second}
	if a.Rate == 0 {
		workers = connections
	}
	attacker := vegeta.NewAttacker(
		vegeta.Workers(connections),
		vegeta.MaxWorkers(workers),
		vegeta.TLSConfig(&tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}), //nolint:gosec // of this run
		vegeta.HTTP2(a.HTTP2),
	)
	var m vegeta.Metrics
	var problem string
	begun := time.Now()
	for r := range attacker.Attack(vegeta.NewStaticTargeter(a.Targets...), pacer, warmUp+a.Duration, "") {
		if r.Error != "" {
			problem = r.Error
			attacker.Stop()
			continue
		}
		end := r.End()
		if a.Rate > 0 {
			// A late request waited since its time, so that a slow server cannot hide by slowing the loader.
			r.Timestamp = begun.Add(time.Duration(float64(r.Seq+1) / float64(pacer.Freq) * float64(time.Second)))
			r.Latency = max(0, end.Sub(r.Timestamp))
		}
		if r.Timestamp.Sub(begun) >= warmUp {
			m.Add(r)
		}
	}
	m.Close()
	switch {
	case problem != "":
		return errors.New("a request failed: " + problem)
	case m.Requests == 0:
		return errors.New("the loader fell behind by more than a second")
	}
	return json.NewEncoder(out).Encode(outcome{
		Rate: m.Throughput,
		P50:  m.Latencies.P50,
		P99:  m.Latencies.P99,
		P999: m.Latencies.Quantile(0.999),
	})
}

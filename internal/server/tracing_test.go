package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestMissingCollector: a node whose collector is down stops without an error.
func TestMissingCollector(t *testing.T) {
	const endpoint, nobody = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"
	t.Setenv(endpoint, nobody)
	var log lockedBuffer
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), &log)
	o.Environ = map[string]string{endpoint: nobody}
	n := must(Start(t.Context(), o))
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	o.Log.Flush()
	if !strings.Contains(log.String(), `level=WARN msg="export of traces or metrics failed"`) {
		t.Errorf("log: %s", &log)
	}
}

// TestTracing: a collector receives the metrics, and a span for each request, which is in the client's
// trace if a trusted proxy forwarded it.
func TestTracing(t *testing.T) {
	t.Run("from a stranger", func(t *testing.T) { testTracing(t, false) })
	t.Run("from a trusted proxy", func(t *testing.T) { testTracing(t, true) })
}

func testTracing(t *testing.T, trusted bool) {
	t.Helper()
	bodies := map[string]chan []byte{"/v1/traces": make(chan []byte, 100), "/v1/metrics": make(chan []byte, 100)}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		bodies[r.URL.Path] <- must(io.ReadAll(r.Body))
	}))
	defer collector.Close()
	// The exporters read the process's environment.
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	o.Environ = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}
	if trusted {
		o.Settings.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	n := must(Start(t.Context(), o))
	_, secret := newKey(t, n.Store())
	r := must(http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		n.PublicURL()+"/v1/categories",
		strings.NewReader(`{"name":"dog"}`),
	))
	r.Header.Set("Authorization", "Bearer "+secret.Reveal())
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"+map[bool]string{
		false: "00", // an unknown client asks not to be sampled
		true:  "01",
	}[trusted])
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res := must(client.Do(r))
	_ = res.Body.Close()
	n.awaitMetric(t, `petcat_requests_total{code="201",operation="createCategory"}`, 1)
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil { // sends buffered spans
		t.Error(err)
	}
	next := func(path string) []byte {
		select {
		case body := <-bodies[path]:
			return body
		case <-time.After(30 * time.Second):
			t.Fatalf("no request to %s", path)
			return nil
		}
	}
	var traces tracev1.ExportTraceServiceRequest
	if err := proto.Unmarshal(next("/v1/traces"), &traces); err != nil {
		t.Fatal(err)
	}
	span := traces.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0]
	trace, parent := span.GetTraceId(), span.GetParentSpanId()
	if !trusted {
		if links := span.GetLinks(); len(links) != 1 || len(parent) != 0 || bytes.Equal(trace, links[0].GetTraceId()) {
			t.Fatalf("span: %v, want a link instead of a parent", span)
		}
		trace, parent = span.GetLinks()[0].GetTraceId(), span.GetLinks()[0].GetSpanId()
	}
	if span.GetName() != "createCategory" ||
		hex.EncodeToString(trace) != "0af7651916cd43dd8448eb211c80319c" ||
		hex.EncodeToString(parent) != "b7ad6b7169203331" ||
		span.GetEndTimeUnixNano() <= span.GetStartTimeUnixNano() {
		t.Errorf("span: %v", span)
	}
	if text := traces.String(); !strings.Contains(text, `"petcat"`) || !strings.Contains(text, "201") ||
		strings.Contains(text, secret.Reveal()) {
		t.Errorf("traces: %s", text)
	}
	var metrics v1.ExportMetricsServiceRequest
	err := proto.Unmarshal(next("/v1/metrics"), &metrics)
	if err != nil || !strings.Contains(metrics.String(), "petcat_requests_total") {
		t.Errorf("metrics: %v, %s", err, metrics.String())
	}
}

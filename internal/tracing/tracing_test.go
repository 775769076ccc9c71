package tracing_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/tracing"
)

// TestStart: the environment enables tracing, and errors name the invalid variable.
func TestStart(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, c := range map[string]struct {
		environment map[string]string
		sends       bool
		mistake     string
	}{
		"nothing":     {nil, false, ""},
		"all":         {map[string]string{endpoint: "http://127.0.0.1:1"}, true, ""},
		"only traces": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"disabled":    {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		"both none":   {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, false, ""},
		"exporter":    {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER must be otlp or none`},
		"protocol":    {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, false, `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL must be http/protobuf`},
		"endpoint":    {map[string]string{endpoint: "https://user:s3cret@host:bad"}, false, endpoint + " must be the URL of a collector, such as https://collector.example.com:4318"},
		"headers":     {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS": "Authorization: Bearer s3cret"}, false, "OTEL_EXPORTER_OTLP_HEADERS must be a list such as name=value,name=value, with URL-encoded values"},
		"a header":    {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20s3cret,a=b"}, true, ""},
		"timeout":     {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, false, "OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds, such as 10000"},
		"compression": {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "snappy"}, false, "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION must be gzip or none"},
		"authority":   {map[string]string{endpoint: "https://127.0.0.1:1", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/missing.pem"}, false, "OTEL_EXPORTER_OTLP_CERTIFICATE must be a readable PEM file with certificates"},
		"half a pair": {map[string]string{endpoint: "https://127.0.0.1:1", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/missing.pem"}, false, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY must be readable PEM files that belong together"},
		"own first":   {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "10", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT": "10"}, true, ""},
		"not used":    {map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracing.Start(t.Context(), tracing.Options{
				Environ: c.environment, Metrics: prometheus.NewRegistry(),
				Version: "test", Node: "a", Deployed: "production", Logger: slog.New(slog.DiscardHandler),
			})
			mistake, ok := errors.AsType[*petcat.UnusableError](err)
			said := c.mistake == "" && err == nil || ok && mistake.Error() == c.mistake
			if !said || (got != nil) != c.sends {
				t.Errorf("%v, %v", got, err)
			}
			got.Record(tracing.Request{Status: 200})
		})
	}
}

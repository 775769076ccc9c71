package tracing_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/tracing"
)

// TestStart: the environment enables tracing, and errors name the invalid variable.
func TestStart(t *testing.T) {
	const collector = "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		endpoint string // OTEL_EXPORTER_OTLP_ENDPOINT
		others   string // other variables: NAME=value NAME=value
		sends    bool
		mistake  string
	}{
		"nothing": {},
		"all":     {endpoint: collector, sends: true},
		"only traces": {
			others: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1 OTEL_TRACES_EXPORTER=otlp",
			sends:  true,
		},
		"disabled": {
			endpoint: collector,
			others:   "OTEL_SDK_DISABLED=TRUE",
		},
		"both none": {
			endpoint: collector,
			others:   "OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none",
		},
		"exporter": {
			endpoint: collector,
			others:   "OTEL_TRACES_EXPORTER=zipkin",
			mistake:  "OTEL_TRACES_EXPORTER must be otlp or none",
		},
		"protocol": {
			endpoint: collector,
			others:   "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc",
			mistake:  "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL must be http/protobuf",
		},
		"endpoint": {
			endpoint: "https://user:s3cret@host:bad",
			mistake: "OTEL_EXPORTER_OTLP_ENDPOINT must be the URL of a collector, " +
				"such as https://collector.example.com:4318",
		},
		"headers": {
			endpoint: collector,
			others:   "OTEL_EXPORTER_OTLP_HEADERS=Authorization:s3cret",
			mistake: "OTEL_EXPORTER_OTLP_HEADERS must be a list such as name=value,name=value, " +
				"with URL-encoded values",
		},
		"a header": {
			endpoint: collector,
			others:   "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20s3cret,a=b",
			sends:    true,
		},
		"timeout": {
			endpoint: collector,
			others:   "OTEL_EXPORTER_OTLP_TIMEOUT=10s",
			mistake:  "OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds, such as 10000",
		},
		"compression": {
			endpoint: collector,
			others:   "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=snappy",
			mistake:  "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION must be gzip or none",
		},
		"authority": {
			endpoint: "https://127.0.0.1:1",
			others:   "OTEL_EXPORTER_OTLP_CERTIFICATE=/missing.pem",
			mistake:  "OTEL_EXPORTER_OTLP_CERTIFICATE must be a readable PEM file with certificates",
		},
		"half a pair": {
			endpoint: "https://127.0.0.1:1",
			others:   "OTEL_EXPORTER_OTLP_CLIENT_KEY=/missing.pem",
			mistake: "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY " +
				"must be readable PEM files that belong together",
		},
		"own first": {
			endpoint: collector,
			others: "OTEL_EXPORTER_OTLP_TIMEOUT=10s " +
				"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=10 OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=10",
			sends: true,
		},
		"not used": {others: "OTEL_EXPORTER_OTLP_TIMEOUT=10s"},
	} {
		t.Run(name, func(t *testing.T) {
			environment := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.endpoint}
			for variable := range strings.FieldsSeq(c.others) {
				name, value, _ := strings.Cut(variable, "=")
				environment[name] = value
			}
			got, err := tracing.Start(t.Context(), tracing.Options{
				Environ:  environment,
				Metrics:  prometheus.NewRegistry(),
				Version:  "test",
				Node:     "a",
				Deployed: "production",
				Logger:   slog.New(slog.DiscardHandler),
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

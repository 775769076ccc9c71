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
		"exporter":    {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER must be otlp or none (got "zipkin")`},
		"protocol":    {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, false, `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL must be http/protobuf (got "grpc")`},
		"endpoint":    {map[string]string{endpoint: "https://user:s3cret@host:bad"}, false, endpoint + " must be the URL of a collector, such as https://collector.example.com:4318; the value is not shown, because it may contain a password"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracing.Start(t.Context(), tracing.Options{
				Environ: c.environment, Metrics: prometheus.NewRegistry(),
				Version: "test", Node: "a", Deployed: "production", Logger: slog.New(slog.DiscardHandler),
			})
			if mistake, ok := errors.AsType[*petcat.UnusableError](err); c.mistake != "" && (!ok || mistake.Error() != c.mistake) || c.mistake == "" && err != nil || (got != nil) != c.sends {
				t.Errorf("%v, %v", got, err)
			}
			got.Record(tracing.Request{Status: 200})
		})
	}
}

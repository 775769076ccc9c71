// Package tracing sends traces and metrics over OTLP if the environment enables it:
// OTEL_EXPORTER_OTLP_ENDPOINT, or its variant for only traces or metrics. It is the only importer of
// OpenTelemetry's packages, which read the other OTEL variables themselves.
//
// Each API request has one span, in the caller's trace (W3C trace context). It is created after
// the response, so it does not delay requests.
package tracing

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"petcat"
)

// Options for [Start]. All fields are required.
type Options struct {
	Environ  map[string]string
	Metrics  prometheus.Gatherer
	Version  string
	Node     string // the node's id
	Deployed string // the environment: production or staging
	Logger   *slog.Logger
}

// Tracing sends traces and metrics. A nil *Tracing sends nothing.
type Tracing struct {
	tracer trace.Tracer // nil without traces
	close  []func(context.Context) error
}

// enabled reports whether a signal is enabled. It returns a [petcat.UnusableError] for an unsupported
// exporter or protocol.
func (o Options) enabled(signal string) (bool, error) {
	exporter, protocol := "OTEL_"+signal+"_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"
	if own := "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"; o.Environ[own] != "" {
		protocol = own
	}
	to := o.Environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + o.Environ["OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"]
	switch chosen := o.Environ[exporter]; {
	case to == "" || chosen == "none" || strings.EqualFold(o.Environ["OTEL_SDK_DISABLED"], "true"):
		return false, nil
	case chosen != "" && chosen != "otlp":
		return false, petcat.Unusablef(nil, "%s must be otlp or none (got %q)", exporter, chosen)
	case o.Environ[protocol] != "" && o.Environ[protocol] != "http/protobuf":
		return false, petcat.Unusablef(nil, "%s must be http/protobuf (got %q)", protocol, o.Environ[protocol])
	default:
		return true, nil
	}
}

// Start starts to send the enabled signals. It returns nil if none is enabled.
func Start(ctx context.Context, o Options) (*Tracing, error) {
	traces, err := o.enabled("TRACES")
	metrics, metricsErr := o.enabled("METRICS")
	if err = errors.Join(err, metricsErr); err != nil || !traces && !metrics {
		return nil, err
	}
	// Attributes from the environment are last, so they override the others.
	from, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "petcat"), attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Node), attribute.String("deployment.environment.name", o.Deployed),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, petcat.Unusablef(err, "OTEL_RESOURCE_ATTRIBUTES cannot be read: %v", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Logger.Warn("export of traces or metrics failed", "error", err)
	}))
	t := &Tracing{}
	if traces {
		err = t.sendTraces(ctx, from)
	}
	if metrics && err == nil {
		err = t.sendMetrics(ctx, from, o.Metrics)
	}
	if err != nil {
		return nil, petcat.Unusablef(err, "traces and metrics cannot be sent; check the variables that begin with OTEL_: %v", err)
	}
	return t, nil
}

func (t *Tracing) sendTraces(ctx context.Context, from *resource.Resource) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(from))
	t.tracer, t.close = provider.Tracer("petcat"), append(t.close, provider.Shutdown)
	return nil
}

func (t *Tracing) sendMetrics(ctx context.Context, from *resource.Resource, all prometheus.Gatherer) error {
	exporter, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return err
	}
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(all))))
	t.close = append(t.close, metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(from)).Shutdown)
	return nil
}

// Request records the span of a completed request. h are the request headers.
func (t *Tracing) Request(h http.Header, operation string, status int, at time.Time, took time.Duration, attributes map[string]string) {
	if t == nil || t.tracer == nil {
		return
	}
	parent := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h)) //nolint:forbidigo // the request is complete
	_, span := t.tracer.Start(parent, cmp.Or(operation, "none"), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at))
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	for name, value := range attributes {
		if value != "" {
			span.SetAttributes(attribute.String(name, value))
		}
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(at.Add(took)))
}

// Close sends the buffered data before ctx ends. Failures are logged, as for any export.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	for _, fn := range t.close {
		if err := fn(ctx); err != nil {
			otel.Handle(err)
		}
	}
}

// Package tracing sends traces and metrics by OpenTelemetry's protocol, where the environment
// asks for it: OTEL_EXPORTER_OTLP_ENDPOINT, or the one of its sisters for traces or metrics
// alone. It is the only importer of OpenTelemetry's packages, which read the rest of the OTEL
// variables themselves.
//
// A trace has one span for each request of the API, with the caller's trace as its parent
// (W3C trace context). It is made after the answer, so requests pay for nothing before.
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

	"petcat/internal/config"
)

// Options says what to send. All fields are required.
type Options struct {
	Environ  map[string]string
	Metrics  prometheus.Gatherer
	Version  string
	Node     string // the node's identity
	Deployed string // the environment of the deployment
	Logger   *slog.Logger
}

// Tracing sends what the environment asks for. A nil *Tracing sends nothing.
type Tracing struct {
	tracer trace.Tracer // nil without traces
	close  []func(context.Context) error
}

// wanted reports whether a signal is to be sent. It returns a [config.Error] for what petcat
// cannot send.
func (o Options) wanted(signal string) (bool, error) {
	exporter, protocol := "OTEL_"+signal+"_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"
	if own := "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"; o.Environ[own] != "" {
		protocol = own
	}
	to := o.Environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + o.Environ["OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"]
	switch chosen := o.Environ[exporter]; {
	case to == "" || chosen == "none" || strings.EqualFold(o.Environ["OTEL_SDK_DISABLED"], "true"):
		return false, nil
	case chosen != "" && chosen != "otlp":
		return false, config.Errorf("%s must be otlp or none (got %q)", exporter, chosen)
	case o.Environ[protocol] != "" && o.Environ[protocol] != "http/protobuf":
		return false, config.Errorf("%s must be http/protobuf (got %q)", protocol, o.Environ[protocol])
	default:
		return true, nil
	}
}

// Start starts to send what the environment asks for, and returns nil if that is nothing.
func Start(ctx context.Context, o Options) (*Tracing, error) {
	traces, err := o.wanted("TRACES")
	metrics, metricsErr := o.wanted("METRICS")
	if err = errors.Join(err, metricsErr); err != nil || !traces && !metrics {
		return nil, err
	}
	// What the environment says of the resource comes last, and wins.
	from, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "petcat"), attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Node), attribute.String("deployment.environment.name", o.Deployed),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, config.Errorf("OTEL_RESOURCE_ATTRIBUTES cannot be read: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Logger.Warn("traces or metrics could not be sent", "error", err)
	}))
	t := &Tracing{}
	if traces {
		err = t.sendTraces(ctx, from)
	}
	if metrics && err == nil {
		err = t.sendMetrics(ctx, from, o.Metrics)
	}
	if err != nil {
		return nil, config.Errorf("traces and metrics cannot be sent; check the variables that begin with OTEL_: %w", err)
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

// Request makes the span of a request that was answered, from its headers and what is known
// of it.
func (t *Tracing) Request(h http.Header, operation string, status int, at time.Time, took time.Duration, about map[string]string) {
	if t == nil || t.tracer == nil {
		return
	}
	parent := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h)) //nolint:forbidigo // of no caller: the request is over
	_, span := t.tracer.Start(parent, cmp.Or(operation, "none"), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at))
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	for name, value := range about {
		if value != "" {
			span.SetAttributes(attribute.String(name, value))
		}
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(at.Add(took)))
}

// Close sends what is left, within the time of ctx.
func (t *Tracing) Close(ctx context.Context) (err error) {
	if t != nil {
		for _, fn := range t.close {
			err = errors.Join(err, fn(ctx))
		}
	}
	return err
}

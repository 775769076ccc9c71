// Package tracing sends traces and metrics over OTLP if the environment enables it:
// OTEL_EXPORTER_OTLP_ENDPOINT, or its variant for only traces or metrics. It is the only importer of
// OpenTelemetry's packages, which read the other OTEL variables themselves.
//
// Each API request has one span. It is in the client's trace (W3C trace context) if a trusted proxy
// forwarded the request; else it begins a trace, with a link to the client's, so that unknown clients
// choose neither its trace nor whether it is sampled. It is created after the response, so it does not
// delay requests.
package tracing

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
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

	"github.com/petcat-api/petcat"
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

// Tracing sends traces and metrics. A nil *Tracing is disabled.
type Tracing struct {
	tracer trace.Tracer // nil without traces
	close  []func(context.Context) error
}

// Start starts to send the enabled signals. It returns nil if none is enabled.
func Start(ctx context.Context, o Options) (*Tracing, error) {
	if err := Check(o.Environ); err != nil {
		return nil, err
	}
	traces, metrics := enabled(o.Environ, "TRACES"), enabled(o.Environ, "METRICS")
	if !traces && !metrics {
		return nil, nil
	}
	from, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "petcat"),
			attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Node),
			attribute.String("deployment.environment.name", o.Deployed),
		),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(), // last, so it overrides the other attributes
	)
	if err != nil {
		return nil, petcat.Unusablef(err, "OTEL_RESOURCE_ATTRIBUTES cannot be read: %v", err)
	}
	otel.SetLogger(logr.New(&sink{o.Logger}))
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
		return nil, petcat.Unusablef(err, "traces and metrics cannot be sent; "+
			"check the variables that begin with OTEL_: %v", err)
	}
	return t, nil
}

// sink is the log of OpenTelemetry. It drops errors and values, which may repeat variables with secrets.
type sink struct{ logger *slog.Logger }

func (*sink) Init(logr.RuntimeInfo) {}

// Enabled is for the levels of [logr.Logger.Info]: none.
func (*sink) Enabled(int) bool { return false }

func (*sink) Info(int, string, ...any) {}

func (s *sink) Error(_ error, message string, _ ...any) {
	s.logger.Warn("tracing failed; check the variables that begin with OTEL_", "message", message)
}

func (s *sink) WithValues(...any) logr.LogSink { return s }

func (s *sink) WithName(string) logr.LogSink { return s }

func (t *Tracing) sendTraces(ctx context.Context, from *resource.Resource) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(from),
	)
	t.tracer = provider.Tracer("petcat")
	t.close = append(t.close, provider.Shutdown)
	return nil
}

func (t *Tracing) sendMetrics(ctx context.Context, from *resource.Resource, all prometheus.Gatherer) error {
	exporter, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return err
	}
	producer := bridge.NewMetricProducer(bridge.WithGatherer(all))
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(producer))
	provider := metric.NewMeterProvider(
		metric.WithReader(reader),
		metric.WithResource(from),
	)
	t.close = append(t.close, provider.Shutdown)
	return nil
}

// Request is a completed request.
type Request struct {
	Header     http.Header // of the request; it may identify the client's trace
	Trusted    bool        // the header comes from a trusted proxy
	Operation  string      // "" for none
	Status     int
	Start      time.Time
	Duration   time.Duration
	Attributes map[string]string // empty values are left out
}

// Record records the span of a request.
func (t *Tracing) Record(r Request) {
	if t == nil || t.tracer == nil {
		return
	}
	ctx := context.Background() //nolint:forbidigo // the request is complete
	named := propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(r.Start),
	}
	if r.Trusted {
		ctx = named
	} else if caller := trace.SpanContextFromContext(named); caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
	}
	_, span := t.tracer.Start(ctx, cmp.Or(r.Operation, "none"), options...)
	span.SetAttributes(attribute.Int("http.response.status_code", r.Status))
	for name, value := range r.Attributes {
		if value != "" {
			span.SetAttributes(attribute.String(name, value))
		}
	}
	if r.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(r.Start.Add(r.Duration)))
}

// Close sends the buffered data before ctx is canceled. Failures are logged, as for any export.
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

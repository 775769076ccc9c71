package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/petcat-api/petcat"
)

// rule is the form of a variable. OpenTelemetry ignores wrong values, and would not send as the operator
// wants.
type rule struct {
	suffix string
	valid  func(value string) bool
	must   string
}

// enabled reports whether a signal, TRACES or METRICS, is enabled.
func enabled(environ map[string]string, signal string) bool {
	endpoint := environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + environ["OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"]
	disabled := strings.EqualFold(environ["OTEL_SDK_DISABLED"], "true")
	return endpoint != "" && !disabled && environ["OTEL_"+signal+"_EXPORTER"] != "none"
}

// Check checks the variables of the enabled signals. It returns a [petcat.UnusableError] that names the
// first wrong variable, without its value, which may contain a password.
func Check(environ map[string]string) error {
	for _, signal := range []string{"TRACES", "METRICS"} {
		if !enabled(environ, signal) {
			continue
		}
		exporter := "OTEL_" + signal + "_EXPORTER"
		if chosen := environ[exporter]; chosen != "" && chosen != "otlp" {
			return petcat.Unusablef(nil, "%s must be otlp or none", exporter)
		}
		for _, r := range rules() {
			name := variable(environ, signal, r.suffix)
			if value := environ[name]; value != "" && !r.valid(value) {
				return petcat.Unusablef(nil, "%s must be %s", name, r.must)
			}
		}
		if err := checkClientCertificate(environ, signal); err != nil {
			return err
		}
	}
	return nil
}

// variable returns the name of the variable that applies to a signal: its own or that of all signals.
func variable(environ map[string]string, signal, suffix string) string {
	if own := "OTEL_EXPORTER_OTLP_" + signal + "_" + suffix; environ[own] != "" {
		return own
	}
	return "OTEL_EXPORTER_OTLP_" + suffix
}

func rules() []rule {
	return []rule{
		{"ENDPOINT", isEndpoint, "the URL of a collector, such as https://collector.example.com:4318"},
		{"PROTOCOL", oneOf("http/protobuf"), "http/protobuf"},
		{"HEADERS", areHeaders, "a list such as name=value,name=value, with URL-encoded values"},
		{"TIMEOUT", isMilliseconds, "a number of milliseconds, such as 10000"},
		{"COMPRESSION", oneOf("gzip", "none"), "gzip or none"},
		{"CERTIFICATE", areCertificates, "a readable PEM file with certificates"},
	}
}

func oneOf(allowed ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(allowed, value) }
}

func isEndpoint(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func areHeaders(value string) bool {
	for header := range strings.SplitSeq(value, ",") {
		name, text, found := strings.Cut(header, "=")
		_, err := url.PathUnescape(text)
		name = strings.TrimSpace(name)
		// A name with a colon or a space is the whole header in the form of HTTP.
		if !found || err != nil || name == "" || strings.ContainsAny(name, ": \t\"") {
			return false
		}
	}
	return true
}

func isMilliseconds(value string) bool {
	n, err := strconv.Atoi(value)
	return err == nil && n > 0
}

func areCertificates(path string) bool {
	text, err := os.ReadFile(path) // #nosec G304 -- the operator's own file
	return err == nil && x509.NewCertPool().AppendCertsFromPEM(text)
}

// checkClientCertificate checks the certificate and key of a signal.
func checkClientCertificate(environ map[string]string, signal string) error {
	certificate := variable(environ, signal, "CLIENT_CERTIFICATE")
	key := variable(environ, signal, "CLIENT_KEY")
	if environ[certificate] == "" && environ[key] == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(environ[certificate], environ[key]); err != nil {
		return petcat.Unusablef(nil, "%s and %s must be readable PEM files that belong together", certificate, key)
	}
	return nil
}

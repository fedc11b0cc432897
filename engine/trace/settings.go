package trace

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings say where traces go, and how many.
type settings struct {
	endpoint string // of the spans, as http://localhost:4318/v1/traces
	headers  http.Header
	timeout  time.Duration
	gzip     bool
	share    float64 // of the traces
}

// settingsOf merges the configuration and the standard environment; nil if traces are disabled.
func settingsOf(endpoint string) (*settings, error) {
	s := &settings{endpoint: os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), headers: make(http.Header), timeout: 10 * time.Second}
	if base := cmp.Or(endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")); endpoint != "" || s.endpoint == "" && base != "" {
		s.endpoint = strings.TrimRight(base, "/") + "/v1/traces"
	}
	if s.endpoint == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	if u, err := url.Parse(s.endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("traces: %q is no address of a collector; as in http://localhost:4318", shown(s.endpoint))
	}
	if p := fromEnv("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("traces: OTEL_EXPORTER_OTLP_PROTOCOL is %q, and only http/protobuf is spoken here; the collector's port for it is usually 4318", p)
	}
	s.gzip = fromEnv("COMPRESSION") == "gzip"
	for pair := range strings.SplitSeq(fromEnv("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			s.headers.Set(strings.TrimSpace(name), value)
		}
	}
	if text := fromEnv("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("traces: OTEL_EXPORTER_OTLP_TIMEOUT is a number of milliseconds, not %q", text)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	var err error
	s.share, err = shareOf(os.Getenv("OTEL_TRACES_SAMPLER"), os.Getenv("OTEL_TRACES_SAMPLER_ARG"))
	return s, err
}

// shown is an address without a password.
func shown(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "the address"
}

// fromEnv returns a setting of the exporter, of traces alone or of everything.
func fromEnv(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// shareOf is how many of the traces are sent. A delivery begins its own trace, so what the parent
// of one says makes no difference.
func shareOf(sampler, argument string) (float64, error) {
	switch strings.TrimPrefix(sampler, "parentbased_") {
	case "", "always_on":
		return 1, nil
	case "always_off":
		return 0, nil
	case "traceidratio":
		share, err := strconv.ParseFloat(cmp.Or(argument, "1"), 64)
		if err != nil || !(share >= 0 && share <= 1) {
			return 0, fmt.Errorf("traces: OTEL_TRACES_SAMPLER_ARG is a share between 0 and 1, not %q", argument)
		}
		return share, nil
	}
	return 0, fmt.Errorf("traces: OTEL_TRACES_SAMPLER %q is not known; use always_on, always_off or traceidratio", sampler)
}

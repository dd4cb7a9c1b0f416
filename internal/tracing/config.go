package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// exportTimeout is how long one request to the collector may take.
	exportTimeout = 10 * time.Second
	maxTimeout    = 60 * time.Second
	// queueLength is how many spans may wait for export.
	queueLength    = 2048
	maxQueueLength = 1 << 16
	batchLength    = 512
)

// settings are what the environment says about the exporter.
type settings struct {
	endpoint string // "" when no spans are to be made
	header   http.Header
	timeout  time.Duration
	gzip     bool
	tls      *tls.Config
	queue    int
}

// exporterVariable returns a variable of the exporter: that for traces, or that for
// all signals. Empty counts as not set.
func exporterVariable(name string) string {
	if v := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
		return v
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_" + name)
}

// readSettings reads the environment. The error says which variable has to be mended.
func readSettings() (s settings, err error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return s, nil
	}
	endpoint, err := readEndpoint()
	if err != nil || endpoint == "" {
		return s, err
	}
	switch exporters := os.Getenv("OTEL_TRACES_EXPORTER"); exporters {
	case "", "otlp":
	case "none":
		return s, nil
	default:
		return s, errors.New("OTEL_TRACES_EXPORTER must be otlp or none")
	}
	if protocol := exporterVariable("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return s, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, with the collector's port for HTTP, usually 4318")
	}
	s.queue = number("OTEL_BSP_MAX_QUEUE_SIZE", queueLength, maxQueueLength)
	s.timeout = exportTimeout
	if text := exporterVariable("TIMEOUT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return s, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds")
		}
		s.timeout = min(time.Duration(min(n, int(maxTimeout.Milliseconds())))*time.Millisecond, maxTimeout)
	}
	switch exporterVariable("COMPRESSION") {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return s, errors.New("OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none")
	}
	if s.header, err = readHeader(exporterVariable("HEADERS")); err != nil {
		return s, err
	}
	if s.tls, err = readTLS(); err != nil {
		return s, err
	}
	s.endpoint = endpoint
	return s, nil
}

func readEndpoint() (string, error) {
	name, text, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""
	if text == "" {
		name, text, path = "OTEL_EXPORTER_OTLP_ENDPOINT", os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "v1/traces"
	}
	if text == "" {
		return "", nil
	}
	// The URL may have a password in it, so the errors don't show it.
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s must be a URL as in http://localhost:4318", name)
	}
	if path != "" {
		u = u.JoinPath(path)
	}
	return u.String(), nil
}

// readHeader reads fields as in a=b,c=d; values may be percent-encoded.
func readHeader(text string) (http.Header, error) {
	header := http.Header{}
	for i, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS must be fields as in name=value,name=value; field %d is not", i+1)
		}
		header.Set(name, value)
	}
	return header, nil
}

// readTLS reads the certificates to trust and to show; nil for none.
func readTLS() (*tls.Config, error) {
	trust, certificate, key := exporterVariable("CERTIFICATE"), exporterVariable("CLIENT_CERTIFICATE"), exporterVariable("CLIENT_KEY")
	if trust == "" && certificate == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if trust != "" {
		pem, err := os.ReadFile(trust)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE must name a readable file with PEM certificates")
		}
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY must name PEM files of a certificate and its key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// number returns a variable from 1 to most; without one, or with any other value,
// the usual.
func number(name string, usual, most int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil || n < 1 {
		return usual
	}
	return min(n, most)
}

package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// latencyBuckets are from 1 ms to 10 s: fewer than seconds has, because there is a
// histogram for each of many labels.
var latencyBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}

// storeOperations are the operations of the store that are measured.
var storeOperations = []string{"create", "scan", "load", "claim", "finish", "heartbeat"}

// latencies are the metrics of how long the service's own work takes.
type latencies struct {
	calls  *prometheus.HistogramVec
	store  *prometheus.HistogramVec
	errors *prometheus.CounterVec
}

func newLatencies() latencies {
	l := latencies{
		calls: histograms("punctual_http_request_duration_seconds",
			"Time from the header of an API request until its response was written, by route and class of status (2xx, 4xx, 5xx). Streams are left out.", latencyBuckets, "route", "class"),
		store: histograms("punctual_store_duration_seconds",
			"Time of the engine's calls of the database, by operation: create, scan, load, claim, finish or heartbeat.", latencyBuckets,
			"operation"),
		errors: counters("punctual_store_errors_total", "The engine's calls of the database that failed, by operation.", "operation"),
	}
	for _, operation := range storeOperations {
		l.store.WithLabelValues(operation)
		l.errors.WithLabelValues(operation)
	}
	return l
}

// Took observes how long an API request took. The route is one of a fixed list, the
// status is counted by its class.
func (m *Metrics) Took(route string, status int, took time.Duration) {
	m.latencies.calls.WithLabelValues(route, strconv.Itoa(status/100)+"xx").Observe(took.Seconds())
}

// StoreCalled observes a call of the database for the engine.
func (m *Metrics) StoreCalled(operation string, took time.Duration, err error) {
	m.latencies.store.WithLabelValues(operation).Observe(took.Seconds())
	if err != nil {
		m.latencies.errors.WithLabelValues(operation).Inc()
	}
}

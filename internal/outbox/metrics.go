package outbox

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-dev/punctual/internal/pause"
)

// Metrics are the metrics of a relay.
type Metrics struct {
	rows    *prometheus.CounterVec
	batches prometheus.Counter
	waited  *prometheus.CounterVec
	latency prometheus.Histogram
	waiting prometheus.Gauge
	oldest  prometheus.Gauge
	failing prometheus.Gauge
	leading prometheus.Gauge
}

// The causes for which rows wait.
var causes = []string{"unauthorized", "forbidden", "rate", "unavailable", "unreachable", "refused"}

func newMetrics() Metrics {
	m := Metrics{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "punctual_outbox_rows_total",
			Help: "Rows of the outbox that were settled, by outcome: created, repeated (created before), failed or unknown."},
			[]string{"outcome"}),
		batches: prometheus.NewCounter(prometheus.CounterOpts{Name: "punctual_outbox_batches_total",
			Help: "Batches of rows that were settled."}),
		waited: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "punctual_outbox_waits_total",
			Help: "Calls after which rows had to wait, by cause."}, []string{"cause"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "punctual_outbox_latency_seconds", Help: "Time from the insert of a row until the service has stored its job.",
			Buckets: []float64{.001, .002, .003, .004, .006, .008, .01, .0125, .015, .02, .03, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "punctual_outbox_rows",
			Help: "Rows that wait, up to 100,000; counted periodically by the active relay."}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{Name: "punctual_outbox_oldest_seconds",
			Help: "Age of the oldest row that waits; measured periodically by the active relay."}),
		failing: prometheus.NewGauge(prometheus.GaugeOpts{Name: "punctual_outbox_failed_rows",
			Help: "Rows that were refused for good and are still in punctual_outbox_failed, up to 100,000."}),
		leading: prometheus.NewGauge(prometheus.GaugeOpts{Name: "punctual_outbox_active", Help: "1 if this relay is the active one."}),
	}
	for _, outcome := range []string{"created", "repeated", "failed", "unknown"} {
		m.rows.WithLabelValues(outcome)
	}
	for _, cause := range causes {
		m.waited.WithLabelValues(cause)
	}
	return m
}

// Collectors returns the metrics.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.rows, m.batches, m.waited, m.latency, m.waiting, m.oldest, m.failing, m.leading}
}

func (m *Metrics) active(leads bool) {
	m.leading.Set(0)
	if leads {
		m.leading.Set(1)
		return
	}
	m.waiting.Set(0) // the active relay counts them
	m.oldest.Set(0)
}

func (m *Metrics) held(h *hold) { m.waited.WithLabelValues(h.cause).Inc() }

// stored counts an answered row.
func (m *Metrics) stored(status int, createdAt time.Time) {
	if status != http.StatusCreated {
		m.rows.WithLabelValues("repeated").Inc()
		return
	}
	m.rows.WithLabelValues("created").Inc()
	m.latency.Observe(max(0, time.Since(createdAt).Seconds()))
}

// counted counts a settled batch.
func (m *Metrics) counted(t *turn) {
	if len(t.answered)+len(t.failed) > 0 {
		m.batches.Inc()
	}
	for i := range t.failed {
		if t.failed[i].problem == unknownProblem {
			m.rows.WithLabelValues("unknown").Inc()
		} else {
			m.rows.WithLabelValues("failed").Inc()
		}
	}
}

// count counts rows for as long as this relay is the active one.
func (r *Relay) count(ctx context.Context) {
	var took time.Duration
	for ctx.Err() == nil {
		// Deleted rows that an old transaction keeps are visited too.
		pause.For(ctx, max(countEvery, countShare*took))
		if !r.leads() {
			continue
		}
		start := time.Now()
		within, cancel := context.WithTimeout(ctx, countEvery)
		waiting, failed, oldest, err := r.source.count(within)
		cancel()
		took = time.Since(start)
		if err != nil {
			if ctx.Err() == nil {
				r.Log.Debug("the rows of the outbox could not be counted", "error", err)
			}
			continue
		}
		r.waiting.Set(float64(waiting))
		r.failing.Set(float64(failed))
		r.oldest.Set(oldest.Seconds())
	}
}

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are the metrics of one process.
type Metrics struct {
	Registry *prometheus.Registry

	created    prometheus.Counter
	duplicates prometheus.Counter
	finished   *prometheus.CounterVec
	attempts   *prometheus.CounterVec
	lateness   *prometheus.HistogramVec
	duration   *prometheus.HistogramVec
	batches    *prometheus.HistogramVec
	requests   *prometheus.CounterVec
	stored     *prometheus.GaugeVec
	due        *prometheus.GaugeVec
	pruned     *prometheus.CounterVec
	completed  *prometheus.CounterVec
	unstored   *prometheus.CounterVec
	refused    *prometheus.CounterVec
	aside      prometheus.Counter
	panics     prometheus.Counter
	limitWait  prometheus.Histogram
	limited    prometheus.Gauge
	operated   *prometheus.CounterVec
	operating  prometheus.Gauge
	latencies  latencies
}

// seconds are buckets from 0.5 ms to 60 s.
var seconds = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// New returns the metrics, including those of the Go runtime and the process.
func New(version string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		created:  prometheus.NewCounter(prometheus.CounterOpts{Name: "punctual_jobs_created_total", Help: "Jobs stored for clients."}),
		duplicates: prometheus.NewCounter(prometheus.CounterOpts{Name: "punctual_jobs_duplicate_total",
			Help: "Create requests that returned an existing job with the same idempotency key."}),
		finished: counters("punctual_jobs_finished_total", "Jobs that became final, by outcome: completed, discarded or cancelled.",
			"outcome"),
		attempts: counters("punctual_attempts_total",
			"Attempts of jobs and deliveries, by kind (job, delivery) and outcome: success, status or the kind of failure.", "kind",
			"outcome"),
		lateness: histograms("punctual_lateness_seconds", "Time from the due time to the start of an attempt, by kind.", seconds, "kind"),
		duration: histograms("punctual_attempt_duration_seconds", "Time from sending a request until the response was read, by kind.",
			seconds, "kind"),
		batches: histograms("punctual_batch_size", "Items that shared one commit, by operation.",
			prometheus.ExponentialBuckets(1, 2, 11), "operation"),
		requests: counters("punctual_http_requests_total", "API requests, by route and status.", "route", "status"),
		stored:   gauges("punctual_jobs", "Stored jobs by state; counted periodically.", "state"),
		due: gauges("punctual_due_runs", "Queue items in the store that are due and not claimed, by kind; counted periodically.",
			"kind"),
		unstored: counters("punctual_unstored_total",
			"Attempts whose outcome the store refused, by kind: the job was discarded, or the delivery given up.", "kind"),
		aside: prometheus.NewCounter(prometheus.CounterOpts{Name: "punctual_runs_set_aside_total",
			Help: "Jobs and deliveries set aside because they can't be attempted."}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "punctual_attempt_panics_total",
			Help: "Attempts that ended in a panic of the service."}),
		completed: counters("punctual_completions_total",
			"Reports of targets about attempts that they complete, and attempts given up, by outcome: result, error, progress or abandoned.", "outcome"),
		pruned: counters("punctual_pruned_total", "Records removed because they were older than the retention, by kind.", "record"),
	}
	m.limitWait = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "punctual_limit_wait_seconds",
		Help:    "Time for which limits delayed attempts after their due time.",
		Buckets: append(append([]float64{}, seconds...), 300, 1800, 7200, 86400)})
	m.limited = prometheus.NewGauge(prometheus.GaugeOpts{Name: "punctual_limit_waiting",
		Help: "Due jobs that wait for a limit, up to 100,000; counted periodically."})
	m.refused = counters("punctual_refused_total",
		"Requests refused by a limit, by reason: account_rate, address_rate, pending, schedules, stored or suspended.", "reason")
	m.operated = counters("punctual_operation_jobs_total",
		"Jobs that operations on many jobs went through on this node, by action and result: changed or skipped.", "action", "result")
	m.operating = prometheus.NewGauge(prometheus.GaugeOpts{Name: "punctual_operations_running",
		Help: "Operations on many jobs that are running, of all nodes; counted periodically."})
	version0 := gauges("punctual_build_info", "Always 1; the version is in the label.", "version")
	version0.WithLabelValues(version).Set(1)
	m.Registry.MustRegister(m.created, m.duplicates, m.finished, m.attempts, m.lateness, m.duration, m.batches, m.requests,
		m.stored, m.due, m.pruned, m.completed, m.unstored, m.refused, m.aside, m.panics, m.limitWait, m.limited, m.operated, m.operating,
		version0,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.latencies = newLatencies()
	m.Registry.MustRegister(m.latencies.calls, m.latencies.store, m.latencies.errors)
	m.begin()
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Created counts a create request that stored a job, or a duplicate.
func (m *Metrics) Created(duplicate bool) {
	if duplicate {
		m.duplicates.Inc()
	} else {
		m.created.Inc()
	}
}

// Finished counts a job that became final.
func (m *Metrics) Finished(outcome string) { m.finished.WithLabelValues(outcome).Inc() }

// Begun observes the lateness of an attempt.
func (m *Metrics) Begun(kind string, late time.Duration) {
	m.lateness.WithLabelValues(kind).Observe(late.Seconds())
}

// LimitWaited observes how long limits delayed an attempt.
func (m *Metrics) LimitWaited(wait time.Duration) { m.limitWait.Observe(max(0, wait).Seconds()) }

// LimitWaiting sets how many due jobs wait for a limit.
func (m *Metrics) LimitWaiting(n int) { m.limited.Set(float64(n)) }

// Attempted counts an attempt and observes its duration.
func (m *Metrics) Attempted(kind, outcome string, took time.Duration) {
	m.attempts.WithLabelValues(kind, outcome).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
}

// BatchSize returns a function that observes an operation's batch sizes.
func (m *Metrics) BatchSize(operation string) func(int) {
	observer := m.batches.WithLabelValues(operation)
	return func(size int) { observer.Observe(float64(size)) }
}

// Requested counts an API request.
func (m *Metrics) Requested(route, status string) { m.requests.WithLabelValues(route, status).Inc() }

// Stored sets how many jobs are stored in a state.
func (m *Metrics) Stored(state string, n int64) { m.stored.WithLabelValues(state).Set(float64(n)) }

// Due sets how many queue items of a kind are due and not claimed.
func (m *Metrics) Due(kind string, n int64) { m.due.WithLabelValues(kind).Set(float64(n)) }

// Pruned counts removed records of a kind.
func (m *Metrics) Pruned(record string, n int) { m.pruned.WithLabelValues(record).Add(float64(n)) }

// Completed counts a report of a target about an attempt that it completes, or an
// attempt given up because its target was silent.
func (m *Metrics) Completed(outcome string) { m.completed.WithLabelValues(outcome).Inc() }

// Unstored counts an attempt of a kind whose outcome the store refused.
func (m *Metrics) Unstored(kind string) { m.unstored.WithLabelValues(kind).Inc() }

// Refused counts a request refused by a limit.
func (m *Metrics) Refused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// Count registers a counter whose value is read at each scrape.
func (m *Metrics) Count(name, help string, labels map[string]string, value func() float64) {
	m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

// SetAside counts a job or delivery that can't be attempted.
func (m *Metrics) SetAside() { m.aside.Inc() }

// Panicked counts an attempt that ended in a panic.
func (m *Metrics) Panicked() { m.panics.Inc() }

// Gauge registers a gauge whose value is read at each scrape.
func (m *Metrics) Gauge(name, help string, labels map[string]string, value func() float64) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

// OperationJobs counts jobs that an operation of an action has changed and skipped.
func (m *Metrics) OperationJobs(action string, changed, skipped int64) {
	m.operated.WithLabelValues(action, "changed").Add(float64(changed))
	m.operated.WithLabelValues(action, "skipped").Add(float64(skipped))
}

// OperationsRunning sets how many operations are running.
func (m *Metrics) OperationsRunning(n int) { m.operating.Set(float64(n)) }

package metrics

// These are the values that labels of counters can have. Each counter begins at 0
// with all of them: Prometheus sees an increase only between two samples, so a
// counter that appears with its first event hides that event, and with a threshold
// of ten all of the first ten.
var (
	kinds    = []string{"job", "delivery"}
	outcomes = []string{
		"success", "awaiting", "status", "abandoned", "answer", "blocked", "cancelled", "closed", "connect", "dns", "expired", "internal",
		"interrupted", "poisoned", "protocol", "redirect", "secret", "timeout", "tls", "too_large", "unstored",
	}
	finals      = []string{"completed", "discarded", "cancelled"}
	reports     = []string{"result", "error", "progress", "abandoned"}
	records     = []string{"job", "log", "audit", "workflow_run"}
	limits      = []string{"account_rate", "address_rate", "pending", "schedules", "stored", "suspended"}
	actions     = []string{"cancel", "rerun", "run", "reschedule"}
	results     = []string{"changed", "skipped"}
	serverFault = []string{"500", "503"}
)

// begin creates the series of all counters whose labels are known.
func (m *Metrics) begin() {
	for _, kind := range kinds {
		for _, outcome := range outcomes {
			m.attempts.WithLabelValues(kind, outcome)
		}
		m.unstored.WithLabelValues(kind)
		m.lateness.WithLabelValues(kind)
		m.duration.WithLabelValues(kind)
	}
	for _, outcome := range finals {
		m.finished.WithLabelValues(outcome)
	}
	for _, report := range reports {
		m.completed.WithLabelValues(report)
	}
	for _, record := range records {
		m.pruned.WithLabelValues(record)
	}
	for _, reason := range limits {
		m.refused.WithLabelValues(reason)
	}
	for _, action := range actions {
		for _, result := range results {
			m.operated.WithLabelValues(action, result)
		}
	}
}

// Expect creates the series of a route's responses that are the service's fault.
// Those of other statuses appear with the first call.
func (m *Metrics) Expect(route string) {
	for _, status := range serverFault {
		m.requests.WithLabelValues(route, status)
	}
}

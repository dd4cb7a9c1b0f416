package differ

import (
	"fmt"
	"strings"
)

var (
	jobOrders = []string{"inserted_at", "scheduled_at", "attempted_at", "completed_at", "cancelled_at", "discarded_at", "state",
		"job_id"}
	scheduleOrders = []string{"inserted_at", "disabled_at", "name"}
	logOrders      = []string{"inserted_at", "event", "job_id"}
	states         = []string{"scheduled", "completed", "cancelled", "available", "executing", "retryable", "discarded"}
)

// order returns the parameter for an order of a list.
func (m *maker) order(fields []string) string {
	return "order_by=" + choose(m, fields...) + choose(m, ",asc", ",desc", "")
}

// query returns parameters that filter jobs.
func (m *maker) query(account int) string {
	var parameters []string
	for range 1 + m.IntN(2) {
		parameters = append(parameters, choose(m,
			"state="+choose(m, states...), "tag=t0", "tag=t1", "tag=t0&tag=t1", "host=127.0.0.1", "host=example.com",
			fmt.Sprint("name=n", m.IntN(3)),
			"since=2020-01-01T00:00:00Z", "until=2100-01-01T00:00:00Z", "until=2020-01-01T00:00:00Z", "idempotency_key="+m.key(),
			"schedule_id="+strings.TrimPrefix(m.scheduleRef(account), "key:")))
	}
	return strings.Join(parameters, "&")
}

// list returns the path of a list of jobs, schedules or logs. It has no offset: records
// of one microsecond, and those that ran at once, may be in another order.
func (m *maker) list(account int) string {
	page := fmt.Sprintf("limit=%d", choose(m, 1, 2, 3, 7, 100))
	switch m.IntN(8) {
	case 0:
		return "/api/schedules?" + page + "&" + m.order(scheduleOrders)
	case 1:
		return "/api/schedules?" + page + "&tag=" + choose(m, "t0", "t1", "t2")
	case 2:
		return "/api/logs?" + page + "&" + m.order(logOrders)
	case 3:
		return "/api/logs?" + page + "&event=" + choose(m, "worker.http.request", "worker.http.response", "worker.state.rejected",
			"worker.schedule.ended", "worker.schedule.skipped")
	case 4:
		return "/api/jobs?" + page + "&" + m.query(account)
	case 5:
		return "/api/jobs?" + page + "&" + m.query(account) + "&" + m.order(jobOrders)
	default:
		return "/api/jobs?" + page + "&" + m.order(jobOrders)
	}
}

// readOne adds a read.
func (m *maker) readOne(account int) {
	switch m.IntN(9) {
	case 0, 1:
		m.walk(account, m.list(account))
	case 2:
		m.get(account, "/api/jobs/"+m.jobRef(account)+choose(m, "", "/details", "/details", "/revisions"))
	case 3:
		m.get(account, "/api/schedules/"+m.scheduleRef(account)+choose(m, "", "/details", "/details", "/revisions", "/state"))
	case 4:
		m.get(account, "/api/jobs/counts?"+m.query(account))
	case 5:
		m.get(account, "/api/export"+choose(m, "", "?owner=o0", "?owner=o1"))
	case 6:
		m.get(account, "/api/limits/"+choose(m, "l0", "l1", "host:127.0.0.1"))
	case 7:
		if len(m.batches) > 0 {
			m.get(account, fmt.Sprintf("/api/operations/<operation:%d>", choose(m, m.batches...)))
		}
	default:
		m.walk(account, choose(m, "/api/limits", "/api/secrets", "/api/groups", "/api/operations?limit=2"))
	}
}

func (m *maker) get(account int, path string) { m.add(account, "GET", path, "") }

func (m *maker) walk(account int, path string) { m.add(account, "GET", path, "").walks = true }

// readAll adds reads of all that an account has.
func (m *maker) readAll(account int) {
	for _, path := range []string{
		"/api/jobs?limit=40", "/api/schedules?limit=3", "/api/logs?limit=40", "/api/jobs/counts", "/api/export", "/api/limits",
		"/api/secrets", "/api/groups", "/api/operations", "/api/account",
	} {
		m.walk(account, path)
	}
	for range 8 {
		m.walk(account, m.list(account))
	}
	for _, number := range m.jobs {
		if m.calls[number-1].account == account {
			m.get(account, fmt.Sprintf("/api/jobs/<job:%d.%d>/details", number, m.IntN(4)))
		}
	}
	for i := range 4 {
		m.get(account, fmt.Sprintf("/api/schedules/key:k%d/details", i))
		m.get(account, fmt.Sprintf("/api/jobs/key:k%d/details", i))
	}
	for _, key := range []string{"l0", "l1"} {
		m.get(account, "/api/limits/"+key)
	}
	for _, path := range []string{"limits/l0", "limits/l1", "secrets/s0", "secrets/s1"} { // how many use them
		m.add(account, "DELETE", "/api/"+path, "")
	}
}

package e2e

import (
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// recurring stores a schedule and returns its first job and its path.
func recurring(c *harness.Client, members string) (job harness.JSON, path string) {
	job = create(c, with(`{"url":"https://example.com/hook"}`, members))
	return job, "/api/schedules/" + job.Get("schedule_id").Str()
}

// unfinished returns the pending and executing jobs of a schedule.
func unfinished(c *harness.Client, schedule string) []harness.JSON {
	var found []harness.JSON
	list := c.Get("/api/jobs?limit=100&schedule_id=" + schedule).Want(200).Data()
	for _, record := range list.Items() {
		switch record.Get("job.state").Str() {
		case "available", "retryable", "executing":
			found = append(found, record)
		}
	}
	return found
}

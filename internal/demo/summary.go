package demo

import (
	"fmt"
	"slices"
	"strings"
)

// summary prints what happened and what is stored, as the API reports it.
func (p *printer) summary(e *evidence) {
	median, worst := lateness(e.runs)
	lines := [][2]string{
		{"runs", fmt.Sprintf("%d: %s", len(e.runs), listed(count(e.runs, func(r *run) string { return string(r.role) })))},
		{"lateness", fmt.Sprintf("median %s, worst %s", milliseconds(median), milliseconds(worst))},
		{"jobs", fmt.Sprintf("%d: %s", len(e.jobs), listed(e.jobsByState()))},
		{"schedules", fmt.Sprintf("%d: %s", len(e.schedules), listed(count(e.schedules, scheduleState)))},
		{"logs", fmt.Sprintf("%d: %s", len(e.logs), listed(e.logsByEvent()))},
	}
	var text strings.Builder
	text.WriteString("\n" + p.paint(bold, "Summary") + p.paint(dim, ", as the API tells it") + "\n\n")
	for _, line := range lines {
		fmt.Fprintf(&text, "  %-9s  %s\n", line[0], line[1])
	}
	if e.cancelled() {
		text.WriteString("\n" + p.paint(dim, "  The cancelled job was the next recurring one, when the schedule was disabled.") + "\n")
	}
	p.print(text.String() + "\n")
}

func scheduleState(s scheduleRecord) string {
	if s.DisabledAt != nil {
		return "disabled"
	}
	return "enabled"
}

func (e *evidence) cancelled() bool {
	return slices.ContainsFunc(e.jobs, func(j jobRecord) bool { return j.Job.State == "cancelled" })
}

// closing says that all was well, and what to do next. command is how the
// program is called.
func (p *printer) closing(command string) {
	p.print(p.paint(green, "All was as promised.") + ` The service has stopped and its files are gone.

` + p.paint(bold, "Next") + `

  Serve             ` + command + ` serve --public-api-key sk_trial
  Read about it     http://127.0.0.1:8080/docs
  Schedule a job    curl http://127.0.0.1:8080/api/jobs \
                      -H "Authorization: Bearer sk_trial" \
                      -d url=https://example.com -d schedule_in=10
`)
}

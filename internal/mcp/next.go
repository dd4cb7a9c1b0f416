package mcp

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// text returns the text of a member of the data, or of a member of a member. Only values
// that the service makes itself belong into what it says to do next: ids, times, states.
func (r *result) text(path ...string) string {
	v := r.data
	for _, name := range path {
		v = rawjson.Get(v, name)
	}
	if v.Kind() == '0' {
		return string(v)
	}
	return rawjson.Text(v)
}

func afterCreate(_ *arguments, r *result) string {
	if r.data.Kind() == '[' {
		return "One job was created for each target of the group. list_jobs has them."
	}
	number := r.text("job_id")
	if number == "" {
		return ""
	}
	next := "Job " + number + " is " + r.text("job", "state")
	if rawjson.Get(rawjson.Get(r.data, "job"), "has_confict").Kind() == 't' {
		next = "Nothing was created: job " + number + " holds this key already. It is " + r.text("job", "state")
	}
	next += " and due at " + r.text("job", "scheduled_at") + "."
	if schedule := r.text("schedule_id"); schedule != "" {
		return next + " It is a run of schedule " + schedule +
			". why with this schedule_id shows the next runs; wait_for_job waits for this one."
	}
	return next + " wait_for_job waits until it is final; cancel_job cancels it."
}

func afterList(get string) func(*arguments, *result) string {
	return func(_ *arguments, r *result) string {
		if r.data.Kind() == '[' && len(rawjson.Elements(r.data)) == 0 {
			return "Nothing matches. Give fewer or other filters."
		}
		next := get + " has the whole record; why explains its state."
		for _, fact := range r.facts {
			if fact.Name == "next_page" {
				next += " There is more: repeat the call with the arguments of next_page added."
			}
		}
		return next
	}
}

func afterJob(_ *arguments, r *result) string {
	number := r.text("job_id")
	switch state := r.text("job", "state"); state {
	case "available", "executing", "retryable":
		return "Job " + number + " is " + state + ". wait_for_job waits until it is final; why explains what it waits for."
	case "discarded":
		return "Job " + number + " failed for good. why has its attempts and errors; rerun_job sends the request again."
	case "":
		return ""
	default:
		return "Job " + number + " is " + state + ", which is final."
	}
}

func afterCancel(_ *arguments, r *result) string {
	if r.text("job", "state") != "cancelled" {
		return "Job " + r.text("job_id") + " was final already: it is " + r.text("job", "state") + "."
	}
	return "Job " + r.text("job_id") + " is cancelled: no request of it starts any more. rerun_job creates it anew."
}

func afterSchedule(_ *arguments, r *result) string {
	id := r.text("id")
	if id == "" {
		return ""
	}
	if r.text("disabled_at") != "" {
		return "Schedule " + id + " is paused since " + r.text("disabled_at") + ". resume_schedule resumes it."
	}
	return "Schedule " + id + " is active. why with this schedule_id shows its next runs and the last one; rehearse shows a longer time."
}

func afterRehearsal(_ *arguments, r *result) string {
	findings := rawjson.Elements(rawjson.Get(r.data, "findings"))
	if len(findings) == 0 {
		return "There are no findings: nothing was skipped, doubled or limited."
	}
	var codes []string
	for _, f := range findings {
		if code := rawjson.Text(rawjson.Get(f, "code")); len(codes) < 5 && !strings.Contains(strings.Join(codes, " "), code) {
			codes = append(codes, code)
		}
	}
	return "Look at the findings first: " + strings.Join(codes, ", ") +
		". edit_schedule changes a schedule; rehearse again with schedules to compare."
}

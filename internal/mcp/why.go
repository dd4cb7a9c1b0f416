package mcp

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var (
	eitherJob      = input{name: "job_id", schema: ids["job_id"]}
	eitherSchedule = input{name: "schedule_id", schema: ids["schedule_id"]}
)

// remedies say what to do about a failure of a kind.
var remedies = map[job.Kind]string{
	job.KindDNS:         "The host name of the url could not be resolved: check it, and correct it with edit_schedule or rerun_job.",
	job.KindConnect:     "Nothing accepted the connection: check that the target runs, and its host and port.",
	job.KindTLS:         "The target's certificate is not trusted, or the handshake failed: the target's owner must mend it.",
	job.KindTimeout:     "The target did not respond within timeout: give a longer timeout, or let the target answer at once and report later (completion).",
	job.KindClosed:      "The target closed the connection before its response was complete: look at the target's log.",
	job.KindProtocol:    "What the target sent was not HTTP: check scheme and port of the url.",
	job.KindRedirect:    "The target redirected too often, or to where requests may not go: give the final url.",
	job.KindBlocked:     "Requests to this address are not allowed: the operator of the service decides which are.",
	job.KindCancelled:   "The job was cancelled while its request was under way.",
	job.KindSecret:      "A secret that the job names is gone or can't be used for this host: a person with an admin key must store it.",
	job.KindGroup:       "The run could not become jobs for the targets of its group. If the group is gone, create it or give the schedule a url; else the account has reached a limit, which the message names.",
	job.KindTooLarge:    "The request is too large to send: give a smaller body, query or headers.",
	job.KindInterrupted: "The service stopped during the attempt; it is repeated by itself while retries are left.",
	job.KindUnstored:    "The outcome could not be stored: look at the target whether the request has arrived before you repeat it.",
	job.KindInternal:    "A defect of the service ended the attempt: tell its operator the job's number.",
	job.KindExpired:     "The job could not start within expires_in after its due time: a limit or an outage held it back. Give a longer expires_in, or rerun_job.",
	job.KindPoisoned:    "The attempt can't be made at all: tell the operator the job's number.",
	job.KindAnswer:      "The target itself reported a failure: its response in the logs says why.",
	job.KindAbandoned:   "The target accepted the work but did not report its outcome in time.",
	job.KindStatus:      "The target responded with a status that is no success: its response in the logs says why. success says which statuses are one.",
}

// explain explains a job or a schedule.
func explain(ctx context.Context, s *session, _ *tool, a *arguments) (*result, error) {
	if (a.get("job_id") == nil) == (a.get("schedule_id") == nil) {
		return nil, complain("give either job_id or schedule_id")
	}
	if a.get("job_id") != nil {
		return explainJob(ctx, s, a)
	}
	return explainSchedule(ctx, s, a)
}

// shownLogs is how many log entries an explanation has: the last attempts.
const shownLogs = 6

func explainJob(ctx context.Context, s *session, a *arguments) (*result, error) {
	path, err := a.path(jobPath + "/details")
	if err != nil {
		return nil, err
	}
	details, err := s.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	r := &result{data: details.data}
	number := r.text("job", "job_id")
	text, next := because(r, number)
	logs, err := s.do(ctx, http.MethodGet, "/api/logs", "job_id="+number+"&limit="+strconv.Itoa(shownLogs), nil)
	if err != nil {
		return nil, err
	}
	members := append(rawjson.Members(details.data), rawjson.Member{Name: "logs", Value: logs.data})
	r.data, r.next = rawjson.Object(members), next
	r.fact("because", rawjson.Quote(text))
	return r, nil
}

// because returns why a job is in its state, and what to do.
func because(r *result, number string) (text, next string) {
	attempts := rawjson.Elements(rawjson.Get(r.data, "attempts"))
	tried := strconv.Itoa(len(attempts)) + " attempts"
	if len(attempts) == 1 {
		tried = "1 attempt"
	}
	kind, status := lastFailure(attempts)
	failure := ""
	if kind != "" {
		failure = " The last one failed: " + string(kind)
		if status != "" {
			failure += ", status " + status
		}
		failure += "."
	}
	text = "Job " + number + " is " + r.text("job", "job", "state")
	switch r.text("job", "job", "state") {
	case "available":
		text += ": it is due at " + r.text("job", "job", "scheduled_at") + "."
		if waits := waitingFor(r); waits != "" {
			return text + " It waits for " + waits + ".", "Wait with wait_for_job. What it waits for must end first: a limit frees a place, or the other job becomes final."
		}
		return text, "Wait with wait_for_job, or change it with edit_job."
	case "executing":
		return text + ": an attempt is under way since " + r.text("job", "job", "attempted_at") + ", after " + tried + ".", "Wait with wait_for_job."
	case "retryable":
		return text + ": " + tried + " failed, and the next one is at " + r.text("next_attempt_at") + "." + failure, remedies[kind]
	case "completed":
		return text + " since " + r.text("job", "job", "completed_at") + ", after " + tried + ".", "Nothing needs to be done."
	case "cancelled":
		return text + " since " + r.text("job", "job", "cancelled_at") + ", after " + tried + ".", "rerun_job creates it anew."
	}
	return text + " since " + r.text("job", "job", "discarded_at") + ": it failed for good after " + tried + "." + failure, strings.TrimSpace(remedies[kind] + " rerun_job sends the request again.")
}

// lastFailure returns how the last attempt failed; "" if it did not.
func lastFailure(attempts []rawjson.Value) (kind job.Kind, status string) {
	if len(attempts) == 0 {
		return "", ""
	}
	last := attempts[len(attempts)-1]
	if code := rawjson.Get(last, "status"); code.Kind() == '0' {
		status = string(code)
	}
	kind = job.Kind(rawjson.Text(rawjson.Get(rawjson.Get(last, "error"), "kind")))
	if remedies[kind] == "" {
		return "", status
	}
	return kind, status
}

// waitingFor says what a job waits for: keys of limits, and jobs. They are names that
// people chose, so only their number is told here; data has them.
func waitingFor(r *result) string {
	var jobs, limits int
	for _, v := range rawjson.Elements(rawjson.Get(r.data, "waiting_for")) {
		if strings.HasPrefix(rawjson.Text(v), "job:") {
			jobs++
		} else {
			limits++
		}
	}
	var parts []string
	if jobs > 0 {
		parts = append(parts, "other jobs ("+strconv.Itoa(jobs)+")")
	}
	if limits > 0 {
		parts = append(parts, "limits ("+strconv.Itoa(limits)+")")
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, " and ") + ", which waiting_for names"
}

func explainSchedule(ctx context.Context, s *session, a *arguments) (*result, error) {
	path, err := a.path(schedulePath + "/details")
	if err != nil {
		return nil, err
	}
	details, err := s.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	r := &result{data: details.data}
	text := "Schedule " + r.text("schedule", "id")
	if at := r.text("schedule", "disabled_at"); at != "" {
		text += " is paused or has ended since " + at + "."
		r.next = "resume_schedule resumes it; if that is refused it has ended, and edit_schedule gives it a future. list_jobs with its schedule_id has its runs."
	} else {
		text += " is active; its next run is due at " + r.text("next_run_at") + "."
		r.next = "rehearse shows what it will do; list_jobs with its schedule_id has its runs."
	}
	if state := r.text("last_run", "job", "state"); state != "" {
		text += " Its last run, job " + r.text("last_run", "job_id") + ", is " + state + "."
	}
	if failures := r.text("failures_in_a_row"); failures != "" && failures != "0" {
		text += " The last " + failures + " runs in a row failed."
		r.next = "Call why with job_id " + r.text("last_run", "job_id") + ", its last run, to see how it failed."
	}
	r.fact("because", rawjson.Quote(text))
	return r, nil
}

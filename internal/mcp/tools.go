package mcp

import (
	"context"
	"net/http"

	"github.com/punctual-dev/punctual/internal/job"
)

// tool is an entry of the table of tools.
type tool struct {
	name  string
	title string
	about string // what it does and when to use it
	call  call
	// own are inputs that are not part of the call.
	own []input
	// run makes the calls; nil for the call alone.
	run func(ctx context.Context, s *session, t *tool, a *arguments) (*result, error)
	// many is the action of an operation that does the same to many jobs; "" for none.
	many string
	// next says what to do after a success; nil for nothing.
	next func(a *arguments, r *result) string

	effect effect
	// again: to repeat the call with the same arguments changes nothing more.
	again bool
	// sends: requests to targets follow.
	sends bool
}

// effect is what a tool does to what is stored.
type effect int

const (
	reads   effect = iota
	adds           // creates records, and changes none
	changes        // changes or ends records
)

// call is a call of the API.
type call struct {
	method, path string
	fields       job.Places // of the body
	body         string     // the schema of the body in the API document, if it has no fields
	filters      job.Lists
	// parameters are the other query parameters, and fixed is a part of the query.
	parameters []string
	fixed      string
}

// pageInputs are the query parameters of lists beside filters.
var pageInputs = []string{"limit", "cursor", "offset", "order_by"}

const (
	jobPath      = "/api/jobs/{job_id}"
	schedulePath = "/api/schedules/{schedule_id}"
)

// tools is the table of tools, in the order in which clients see them.
var tools = []tool{
	{
		name: "create_job", title: "Create a job", effect: adds, sends: true, next: afterCreate,
		about: "Creates a job: one HTTP request that is sent now, after a delay (schedule_in) or at a time (scheduled_at), and retried if it fails. " +
			"To be woken later, give your own callback as url. For something that repeats, use create_schedule. " +
			"Give idempotency_key to make a repeated call harmless.",
		call: call{method: http.MethodPost, path: "/api/jobs", fields: job.ForJob},
	},
	{
		name: "list_jobs", title: "List jobs", again: true, next: afterList("get_job"),
		about: "Lists jobs, newest first. Filters combine. q finds jobs by id, idempotency key, or text in url and name.",
		call:  call{method: http.MethodGet, path: "/api/jobs", filters: job.OfJobs, parameters: append([]string{"q"}, pageInputs...)},
	},
	{
		name: "get_job", title: "Get a job", again: true, next: afterJob,
		about: "Returns a job's record: its request, its due time and its state. why explains the state.",
		call:  call{method: http.MethodGet, path: jobPath},
	},
	{
		name: "edit_job", title: "Edit a job", effect: changes, again: true, next: afterJob,
		about: "Changes a job that has not started. Fields that you leave out stay, null removes one; headers, query, body and lists are replaced as a whole.",
		call:  call{method: http.MethodPatch, path: jobPath, fields: job.EditJob},
	},
	{
		name: "cancel_job", title: "Cancel a job", effect: changes, again: true, run: oneOrMany, many: "cancel", next: afterCancel,
		about: "Cancels a job that is not final, also while its request is under way, or all jobs that a filter selects. rerun_job creates it anew. Of a schedule it cancels this run only.",
		call:  call{method: http.MethodPost, path: jobPath + "/cancel"},
	},
	{
		name: "rerun_job", title: "Run a job again", effect: adds, sends: true, run: oneOrMany, many: "rerun", next: afterCreate,
		about: "Creates a new job with the same request, due now, whatever the state of the first; or one for each job that a filter selects. Fields that you give differ.",
		call:  call{method: http.MethodPost, path: jobPath + "/rerun", fields: job.EditJob},
	},
	{
		name: "wait_for_job", title: "Wait for a job", again: true, run: waitForJob, own: []input{secondsInput},
		about: "Waits until a job is final (completed, discarded or cancelled), at most for some seconds, and returns its record. If it is not final by then, call it again.",
		call:  call{method: http.MethodGet, path: jobPath},
	},
	{
		name: "create_schedule", title: "Create a schedule", effect: adds, sends: true, run: createSchedule, next: afterCreate,
		about: "Creates a schedule, which sends an HTTP request by cron or repeat_every; one of them is needed. Returns its first run, with the schedule_id. " +
			"rehearse shows what it will do.",
		call: call{method: http.MethodPost, path: "/api/jobs", fields: job.ForSchedule},
	},
	{
		name: "list_schedules", title: "List schedules", again: true, next: afterList("get_schedule"),
		about: "Lists schedules, newest first, with the time of the next run.",
		call: call{method: http.MethodGet, path: "/api/schedules", filters: job.OfSchedules, parameters: pageInputs,
			fixed: "include=next_run_at"},
	},
	{
		name: "get_schedule", title: "Get a schedule", again: true, next: afterSchedule,
		about: "Returns a schedule's record. why has its next runs and how the last one ended.",
		call:  call{method: http.MethodGet, path: schedulePath},
	},
	{
		name: "edit_schedule", title: "Edit a schedule", effect: changes, again: true, next: afterSchedule,
		about: "Changes a schedule. Fields that you leave out stay, null removes one; headers, query, body and lists are replaced as a whole. A run that has started keeps what it has.",
		call:  call{method: http.MethodPatch, path: schedulePath, fields: job.EditSchedule},
	},
	{
		name: "cancel_schedule", title: "Delete a schedule", effect: changes, run: cancelSchedule, own: []input{confirmInput},
		about: "Deletes a schedule for good, and cancels its pending run. The first call changes nothing and returns a token; the second call needs it as confirm. pause_schedule stops it and can be undone.",
		call:  call{method: http.MethodDelete, path: schedulePath},
	},
	{
		name: "rerun_schedule", title: "Run a schedule now", effect: changes, sends: true, next: afterCreate,
		about: "Makes the pending run of a schedule due now, or creates one if the schedule is paused. Later runs stay as they are.",
		call:  call{method: http.MethodPost, path: schedulePath + "/run"},
	},
	{
		name: "wait_for_schedule", title: "Wait for a run of a schedule", again: true, run: waitForSchedule, own: []input{secondsInput},
		about: "Waits until the pending run of a schedule is final, at most for some seconds, and returns that run.",
		call:  call{method: http.MethodGet, path: schedulePath},
	},
	{
		name: "pause_schedule", title: "Pause a schedule", effect: changes, again: true, next: afterSchedule,
		about: "Pauses a schedule: it has no runs until resume_schedule.",
		call:  call{method: http.MethodPost, path: schedulePath + "/disable"},
	},
	{
		name: "resume_schedule", title: "Resume a schedule", effect: changes, again: true, sends: true, next: afterSchedule,
		about: "Resumes a paused schedule at the next point of its grid.",
		call:  call{method: http.MethodPost, path: schedulePath + "/enable"},
	},
	{
		name: "why", title: "Explain a job or a schedule", again: true, run: explain, own: []input{eitherJob, eitherSchedule},
		about: "Explains the state of a job or a schedule: what it waits for, each attempt with its error, what comes next and what to do. Give job_id or schedule_id.",
	},
	{
		name: "rehearse", title: "Rehearse schedules", again: true, next: afterRehearsal,
		about: "Shows what schedules will do, without sending or storing anything: counts, clock changes, overlaps, limits, ends. " +
			"Without schedules it rehearses the stored ones, for a year from now.",
		call: call{method: http.MethodPost, path: "/api/rehearse", body: "RehearsalRequest"},
	},
}

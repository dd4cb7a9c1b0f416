package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/jobquery"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type jobsCommand struct {
	Create jobsCreate `cmd:"" help:"Create a job: now, later, or on a schedule."`
	List   jobsList   `cmd:"" help:"List jobs, newest first."`
	Show   jobsShow   `cmd:"" help:"Show a job with its attempts, and why it is in its state."`
	Watch  jobsWatch  `cmd:"" help:"Show the progress of a job until it is final. The exit status tells the outcome."`
	Edit   jobsEdit   `cmd:"" help:"Change fields of a job that waits for its first attempt."`
	Run    jobsRun    `cmd:"" help:"Make a pending job due now."`
	Rerun  jobsRerun  `cmd:"" help:"Create a job that repeats another one, apart from fields that differ."`
	Cancel jobsCancel `cmd:"" help:"Cancel unfinished jobs. A schedule goes on after its run is cancelled."`
}

// request is the part of a request description that is shown.
type request struct {
	Method string   `json:"method"`
	URL    string   `json:"url"`
	Tags   []string `json:"tags"`
}

// requestOf reads the args of a record. What has another type is left out.
func requestOf(args json.RawMessage) (r request) {
	_ = json.Unmarshal(args, &r)
	return r
}

func (r request) String() string { return strings.ToUpper(r.Method) + " " + r.URL }

func jobNumber(j *client.JobRecord) string { return strconv.FormatInt(j.JobID, 10) }

func jobPath(id string) string { return "/api/jobs/" + url.PathEscape(id) }

type jobsCreate struct {
	serviceFlags
	requestFlags
	whenFlags
	waitFlags
	Batch string `placeholder:"FILE" help:"Create the jobs of a file in one transaction, all or none: a JSON array, or a job in each line; - reads standard input."`
}

// Run creates a job, or those of a file.
func (c *jobsCreate) Run(env *environment) error {
	switch {
	case c.Batch != "" && c.Target != "":
		return failed(statusUsage, "--batch FILE has the urls of its jobs; leave out the url")
	case c.Batch != "" && c.waits():
		return failed(statusUsage, "--wait is for one job; --batch FILE creates several")
	case c.Batch != "":
		return c.createBatch(env)
	}
	body, err := c.body(env)
	if err != nil {
		return err
	}
	group := !rawjson.IsNull(rawjson.Get(body, "group"))
	if c.Target == "" && c.File == "" && !group {
		return failed(statusUsage, "give the url that the request goes to, --group NAME, --file FILE or --batch FILE")
	}
	record, repeated, err := c.create(env, body)
	if err == nil && rawjson.Value(record).Kind() == '[' {
		return c.printGroupJobs(env, record, repeated)
	}
	return c.started(env, record, err, &c.waitFlags, func(j *client.JobRecord) string {
		text := fmt.Sprintf("job %d is due %s", j.JobID, c.terminal(env).moment(j.Job.ScheduledAt))
		if j.Job.HasConflict {
			text = found(j, repeated)
		} else if j.ScheduleID != nil {
			text += ", the first run of schedule " + printable(*j.ScheduleID)
		}
		return text
	})
}

// found says that a call has created no job because there is one already.
func found(j *client.JobRecord, repeated bool) string {
	if repeated {
		return fmt.Sprintf("job %d exists and is %s; an earlier try of this command may have created it", j.JobID, printable(j.Job.State))
	}
	return fmt.Sprintf("job %d already holds this key and is %s; nothing was created", j.JobID, printable(j.Job.State))
}

// body returns the body of the create request.
func (c *jobsCreate) body(env *environment) (rawjson.Value, error) {
	timing, err := c.timing()
	if err != nil {
		return nil, err
	}
	members, err := c.fields(env, timing)
	if err != nil {
		return nil, err
	}
	return rawjson.Object(members), nil
}

// started prints a job that was created or is to run, and waits for its end if the
// flags say so. words describes it.
func (c *serviceFlags) started(env *environment, record []byte, err error, wait *waitFlags, words func(*client.JobRecord) string) error {
	if err != nil || c.JSON && !wait.waits() {
		return c.print(env, record, err)
	}
	j, err := decoded[client.JobRecord](record)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
	case c.Quiet:
		err = printIDs(env, []client.JobRecord{j}, jobNumber)
	default:
		err = c.say(env, "%s", words(&j))
	}
	if err != nil || !wait.waits() {
		return err
	}
	return c.await(env, jobNumber(&j), wait.WaitFor, !c.Quiet)
}

type jobsList struct {
	serviceFlags
	Query string `arg:"" optional:"" name:"query" help:"Only jobs that a query selects, as in 'failed host:api.example.com since:2h'. See the dashboard's guide."`
	filterFlags
	Search chosen `placeholder:"TEXT" help:"Only jobs with this text in their url or name, or with this id or key."`
	listFlags
}

// Run lists jobs.
func (c *jobsList) Run(env *environment) error {
	query, err := c.values(env, &c.serviceFlags)
	if err != nil {
		return err
	}
	if c.Search != "" {
		query.Set("q", string(c.Search))
	}
	if err := c.addQuery(env, query); err != nil {
		return err
	}
	records, err := c.list(env, "/api/jobs", query, c.Limit)
	columns := []column{{title: "ID"}, stateColumn("STATE"), {title: "DUE"}, {title: "REQUEST", shrink: true},
		{title: "NAME", shrink: true}}
	return listing[client.JobRecord]{
		id:      jobNumber,
		none:    "there are no such jobs; create one with punctual jobs create",
		columns: columns,
		row: func(to terminal, j *client.JobRecord) []string {
			return []string{jobNumber(j), j.Job.State, to.moment(j.Job.ScheduledAt), requestOf(j.Args).String(), orDash(j.Name)}
		},
	}.print(&c.displayFlags, env, records, err)
}

// addQuery adds what the query selects to the parameters that flags gave. Its times are in
// the machine's zone.
func (c *jobsList) addQuery(env *environment, given url.Values) error {
	typed, err := jobquery.Parse(c.Query, jobquery.Options{Now: time.Now(), Zone: time.Local})
	if err != nil {
		return failed(statusUsage, "%s", err)
	}
	for name, texts := range typed {
		if given.Has(name) && !isRepeated(name) {
			return failed(statusUsage, "the query and a flag both give %s; give one of them", name)
		}
		if name == "schedule_id" {
			id, err := c.scheduleID(env, texts[0])
			if err != nil {
				return err
			}
			texts = []string{id}
		}
		given[name] = append(given[name], texts...)
	}
	return nil
}

// isRepeated reports whether a parameter is that of a filter which may be given again.
func isRepeated(name string) bool {
	return slices.ContainsFunc(job.FiltersOf(job.OfJobs), func(f *job.Filter) bool { return f.Name == name && f.Repeats() })
}

type jobsShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The job's number or id, or key:KEY."`
}

// Run shows a job. As JSON it is the job's record.
func (c *jobsShow) Run(env *environment) error {
	if c.JSON || c.Quiet {
		record, err := c.record(env, http.MethodGet, jobPath(c.ID), nil)
		return printOne(&c.displayFlags, env, record, err, jobNumber, nil)
	}
	record, err := c.record(env, http.MethodGet, jobPath(c.ID)+"/details", nil)
	if err != nil {
		return err
	}
	d, err := decoded[client.JobDetails](record)
	if err != nil {
		return err
	}
	return c.printDetails(env, record, &d)
}

// printDetails prints a job, why it is in its state, and the last response.
func (c *jobsShow) printDetails(env *environment, record []byte, d *client.JobDetails) error {
	to := c.terminal(env)
	j, err := c.readJob(env, record)
	if err != nil {
		return err
	}
	response := ""
	if len(d.Attempts) > 0 {
		if response, err = c.excerpt(env, jobNumber(&d.Job)); err != nil {
			return err
		}
	}
	return printJob(env.out, to, d, j.Explain(wordsOf(to)).Because, response)
}

type jobsRun struct {
	serviceFlags
	waitFlags
	ID string `arg:"" name:"id" help:"The job's number or id, or key:KEY."`
}

// Run makes a job due now.
func (c *jobsRun) Run(env *environment) error {
	record, err := c.record(env, http.MethodPost, jobPath(c.ID)+"/run", nil)
	return c.started(env, record, err, &c.waitFlags, c.due(env))
}

// due returns the sentence that tells when a job is due.
func (c *serviceFlags) due(env *environment) func(*client.JobRecord) string {
	return func(j *client.JobRecord) string {
		if j.Job.State == "executing" {
			return fmt.Sprintf("job %d is executing", j.JobID)
		}
		return fmt.Sprintf("job %d is due %s", j.JobID, c.terminal(env).moment(j.Job.ScheduledAt))
	}
}

type jobsCancel struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The jobs' numbers or ids, or key:KEY."`
}

// Run cancels as many of the jobs as possible.
func (c *jobsCancel) Run(env *environment) error {
	var failures error
	for _, id := range c.IDs {
		record, err := c.record(env, http.MethodPost, jobPath(id)+"/cancel", nil)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("job %s: %w", printable(id), err))
			continue
		}
		err = printOne(&c.displayFlags, env, record, nil, jobNumber, func(j *client.JobRecord) error {
			return c.say(env, "%s", cancelled(j))
		})
		failures = errors.Join(failures, err)
	}
	return failures
}

// cancelled says what a call that cancels a job did.
func cancelled(j *client.JobRecord) string {
	switch {
	case j.Job.State != "cancelled":
		return fmt.Sprintf("job %d is %s; nothing was changed", j.JobID, printable(j.Job.State))
	case j.ScheduleID != nil:
		return fmt.Sprintf("job %d is cancelled; this skips only one run of schedule %s: punctual schedules disable %[2]s stops all",
			j.JobID, printable(*j.ScheduleID))
	}
	return fmt.Sprintf("job %d is cancelled", j.JobID)
}

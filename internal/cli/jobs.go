package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

type jobsCommand struct {
	Create jobsCreate `cmd:"" help:"Create a job: now, later, or on a schedule."`
	List   jobsList   `cmd:"" help:"List jobs, newest first."`
	Show   jobsShow   `cmd:"" help:"Print the record of a job."`
	Edit   jobsEdit   `cmd:"" help:"Change fields of a job that waits for its first attempt."`
	Rerun  jobsRerun  `cmd:"" help:"Create a job that repeats another one, apart from fields that differ."`
	Cancel jobsCancel `cmd:"" help:"Cancel unfinished jobs."`
}

// jobView is the part of a job's record that is shown.
type jobView struct {
	Number   int64   `json:"job_id"`
	Schedule *string `json:"schedule_id"`
	Name     *string `json:"name"`
	Job      struct {
		State     string `json:"state"`
		Scheduled string `json:"scheduled_at"`
		Conflict  bool   `json:"has_confict"` // as the contract spells it
	} `json:"job"`
	Args struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"args"`
}

type jobsCreate struct {
	serviceFlags
	Target  string       `arg:"" name:"url" help:"Where the request goes: an https address."`
	When    string       `default:"now" placeholder:"WORDS" help:"When to make it, in plain words: in 10 seconds, tomorrow at 9:00, every weekday at 9:00 Europe/Berlin; or a cron expression."`
	Zone    string       `default:"UTC" placeholder:"ZONE" help:"The time zone of times in --when without one, such as Europe/Berlin."`
	Method  string       `short:"X" placeholder:"METHOD" help:"The request's method. Default: POST with a body, otherwise GET."`
	Header  []string     `short:"H" sep:"none" placeholder:"'NAME: VALUE'" help:"A header of the request; may be repeated."`
	Data    string       `short:"d" placeholder:"BODY" help:"The body: JSON as it is, anything else as a JSON string; @FILE reads a file, @- standard input."`
	Options kong.Plugins `embed:""` // the flags of newFieldFlags
}

// Run creates a job.
func (c *jobsCreate) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	record, err := c.record(env, http.MethodPost, "/api/jobs", body)
	if err != nil || c.JSON {
		return c.print(env, record, err)
	}
	var j jobView
	if err := json.Unmarshal(record, &j); err != nil {
		return fmt.Errorf("reading the service's response: %w", err)
	}
	text := fmt.Sprintf("job %d is due %s", j.Number, j.Job.Scheduled)
	if j.Job.Conflict {
		text = fmt.Sprintf("job %d already holds this key and is %s; nothing was created", j.Number, j.Job.State)
	} else if j.Schedule != nil {
		text += ", the first run of schedule " + *j.Schedule
	}
	_, err = fmt.Fprintln(env.out, text)
	return err
}

// body returns the body of the create request.
func (c *jobsCreate) body(env *environment) (rawjson.Value, error) {
	var members []rawjson.Member
	add := func(name string, v rawjson.Value) { members = append(members, rawjson.Member{Name: name, Value: v}) }
	body, err := c.data(env)
	if err != nil {
		return nil, err
	}
	method := c.Method
	if method == "" {
		method = http.MethodGet
		if body != nil {
			method = http.MethodPost
		}
	}
	add("method", rawjson.Quote(method))
	add("url", rawjson.Quote(c.Target))
	headers, err := c.headers()
	if err != nil {
		return nil, err
	}
	if len(headers) > 0 {
		add("headers", rawjson.Object(headers))
	}
	if body != nil {
		add("body", body)
	}
	zone, err := schedule.LoadZone(c.Zone)
	if err != nil {
		return nil, fmt.Errorf("--zone: there is no time zone %s; name one such as Europe/Berlin", c.Zone)
	}
	timing, err := naturaltime.Parse(c.When, time.Now(), zone)
	if err != nil {
		return nil, fmt.Errorf("--when %w", err)
	}
	members = append(members, timing.Members()...)
	members = append(members, fieldMembers(c.Options)...)
	return rawjson.Object(members), nil
}

// data returns the request's body, or nil if there is none.
func (c *jobsCreate) data(env *environment) (rawjson.Value, error) {
	text := []byte(c.Data)
	file, named := strings.CutPrefix(c.Data, "@")
	var err error
	switch {
	case c.Data == "":
		return nil, nil
	case named && file == "-":
		text, err = io.ReadAll(env.in)
	case named:
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the body: %w", err)
	}
	return jsonOrText(string(text)), nil
}

// jsonOrText returns JSON unchanged and any other text as a JSON string. The service
// reports what is wrong with it.
func jsonOrText(text string) rawjson.Value {
	if v, err := rawjson.Read([]byte(text)); err == nil {
		return v
	}
	return rawjson.Quote(text)
}

// headers returns the request's headers; a repeated name has a list of values.
func (c *jobsCreate) headers() ([]rawjson.Member, error) {
	var names []string
	values := map[string][]rawjson.Value{}
	for _, header := range c.Header {
		name, value, ok := strings.Cut(header, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("--header must be like 'Name: value', not %q", header)
		}
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], rawjson.Quote(strings.TrimSpace(value)))
	}
	var members []rawjson.Member
	for _, name := range names {
		value := values[name][0]
		if len(values[name]) > 1 {
			value = rawjson.Array(values[name])
		}
		members = append(members, rawjson.Member{Name: name, Value: value})
	}
	return members, nil
}

type jobsList struct {
	serviceFlags
	State string   `placeholder:"STATE" help:"Only jobs in a state: ${states}."`
	Tag   []string `sep:"none" placeholder:"TAG" help:"Only jobs with this tag; may be repeated, then only jobs with all of them."`
	Host  string   `placeholder:"HOST" help:"Only jobs whose url has this host name."`
	Name  string   `placeholder:"NAME" help:"Only jobs with exactly this name."`
	Since string   `placeholder:"TIME" help:"Only jobs created from this time on, such as 2026-01-31T09:00:00Z."`
	Until string   `placeholder:"TIME" help:"Only jobs created before this time."`
	Limit string   `default:"20" placeholder:"N" help:"How many, from 1 to 100."`
}

// query returns the parameters of the list.
func (c *jobsList) query() url.Values {
	query := url.Values{"limit": {c.Limit}}
	for name, value := range map[string]string{"state": c.State, "host": c.Host, "name": c.Name, "since": c.Since, "until": c.Until} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(c.Tag) > 0 {
		query["tag"] = c.Tag
	}
	return query
}

// Run lists jobs.
func (c *jobsList) Run(env *environment) error {
	records, err := c.record(env, http.MethodGet, "/api/jobs?"+c.query().Encode(), nil)
	if err != nil || c.JSON {
		return c.print(env, records, err)
	}
	var jobs []jobView
	if err := json.Unmarshal(records, &jobs); err != nil {
		return fmt.Errorf("reading the service's response: %w", err)
	}
	if len(jobs) == 0 {
		_, err := fmt.Fprintln(env.out, "there are no such jobs; create one with punctual jobs create")
		return err
	}
	w := tabwriter.NewWriter(env.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tSTATE\tDUE\tREQUEST\tNAME")
	for _, j := range jobs {
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s %s\t%s\n", j.Number, j.Job.State, j.Job.Scheduled, strings.ToUpper(j.Args.Method), j.Args.URL, orDash(j.Name))
	}
	return w.Flush()
}

type jobsShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The job's number or id, or key:KEY."`
}

// Run prints a job's record.
func (c *jobsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, "/api/jobs/"+url.PathEscape(c.ID), nil)
	return c.print(env, record, err)
}

type jobsCancel struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The jobs' numbers or ids."`
}

// Run cancels as many of the jobs as possible.
func (c *jobsCancel) Run(env *environment) error {
	var failed error
	for _, id := range c.IDs {
		record, err := c.record(env, http.MethodPost, "/api/jobs/"+url.PathEscape(id)+"/cancel", nil)
		var j jobView
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("job %s: %w", id, err))
		case c.JSON:
			failed = errors.Join(failed, c.print(env, record, nil))
		case json.Unmarshal(record, &j) == nil:
			_, _ = fmt.Fprintf(env.out, "job %d is %s\n", j.Number, j.Job.State)
		}
	}
	return failed
}

// print prints the service's response, indented.
func (c *serviceFlags) print(env *environment, record []byte, err error) error {
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, record, "", "  "); err != nil {
		return fmt.Errorf("reading the service's response: %w", err)
	}
	_, err = fmt.Fprintln(env.out, b.String())
	return err
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type schedulesCommand struct {
	Show schedulesShow `cmd:"" help:"Print the details of a schedule: its record, revision, next due times and last run."`
	Edit schedulesEdit `cmd:"" help:"Change fields of a schedule; its pending run takes them over."`
	Run  schedulesRun  `cmd:"" help:"Run a schedule now; its grid stays."`
}

// editFlags say which fields change.
type editFlags struct {
	Set   []string `sep:"none" placeholder:"FIELD=VALUE" help:"Set a field of the API: a number, a duration such as '5 minutes', JSON, or text. May be repeated."`
	Unset []string `sep:"none" placeholder:"FIELD" help:"Remove a field, so that it has its default. May be repeated."`
	Patch string   `placeholder:"FILE" help:"A file with a JSON object of fields to change, null to remove one; - for standard input."`
}

// body returns the fields as a merge patch. Those of --set and --unset replace the
// file's.
func (f *editFlags) body(env *environment) (rawjson.Value, error) {
	members, err := f.file(env)
	if err != nil {
		return nil, err
	}
	put := func(name string, v rawjson.Value) {
		members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == name })
		members = append(members, rawjson.Member{Name: name, Value: v})
	}
	for _, text := range f.Set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--set must be like FIELD=VALUE, not %q", text)
		}
		put(name, setValue(name, value))
	}
	for _, name := range f.Unset {
		put(name, rawjson.Value(`null`))
	}
	return rawjson.Object(members), nil
}

func (f *editFlags) file(env *environment) ([]rawjson.Member, error) {
	if f.Patch == "" {
		return nil, nil
	}
	var text []byte
	var err error
	if f.Patch == "-" {
		text, err = io.ReadAll(env.in)
	} else {
		text, err = os.ReadFile(f.Patch)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the fields: %w", err)
	}
	v, err := rawjson.Read(text)
	if err != nil || v.Kind() != '{' {
		return nil, fmt.Errorf("%s must be a JSON object with the fields to change", f.Patch)
	}
	return rawjson.Members(v), nil
}

// setValue returns the value that text stands for in a field.
func setValue(name, text string) rawjson.Value {
	if f := job.FieldNamed(name); f != nil && f.Kind != job.AnyValue {
		if v := f.Value(text); v != nil {
			return v
		}
	}
	return jsonOrText(text)
}

// header returns the header of an edit of a revision; nil for any.
func header(revision int64) http.Header {
	if revision == 0 {
		return nil
	}
	return http.Header{"If-Match": {fmt.Sprintf(`"%d"`, revision)}}
}

type jobsEdit struct {
	serviceFlags
	editFlags
	ID       string `arg:"" name:"id" help:"The job's number or id, or key:KEY."`
	Revision int64  `placeholder:"N" help:"Change nothing unless the job has this revision."`
}

// Run changes a waiting job.
func (c *jobsEdit) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	record, err := c.edited(env, "/api/jobs/"+url.PathEscape(c.ID), body, c.Revision)
	if err != nil || c.JSON {
		return c.print(env, record, err)
	}
	return c.printJob(env, record, "job %d is due %s")
}

// edited sends a merge patch and returns the record after it.
func (c *serviceFlags) edited(env *environment, path string, body []byte, revision int64) ([]byte, error) {
	got, err := c.call(env, http.MethodPatch, path, body, header(revision))
	if err != nil {
		return nil, err
	}
	return c.data(got)
}

// printJob prints a job's number and due time.
func (c *serviceFlags) printJob(env *environment, record []byte, format string) error {
	var j jobView
	if err := json.Unmarshal(record, &j); err != nil {
		return fmt.Errorf("reading the service's response: %w", err)
	}
	_, err := fmt.Fprintf(env.out, format+"\n", j.Number, j.Job.Scheduled)
	return err
}

type jobsRerun struct {
	serviceFlags
	editFlags
	ID string `arg:"" name:"id" help:"The job's number or id, or key:KEY."`
}

// Run creates a job that repeats another one.
func (c *jobsRerun) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	record, err := c.record(env, http.MethodPost, "/api/jobs/"+url.PathEscape(c.ID)+"/rerun", body)
	if err != nil || c.JSON {
		return c.print(env, record, err)
	}
	return c.printJob(env, record, "job %d is due %s")
}

type schedulesShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
}

// Run prints the details of a schedule.
func (c *schedulesShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, "/api/schedules/"+url.PathEscape(c.ID)+"/details", nil)
	return c.print(env, record, err)
}

type schedulesEdit struct {
	serviceFlags
	editFlags
	ID       string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
	Revision int64  `placeholder:"N" help:"Change nothing unless the schedule has this revision."`
}

// Run changes a schedule.
func (c *schedulesEdit) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	record, err := c.edited(env, "/api/schedules/"+url.PathEscape(c.ID), body, c.Revision)
	if err != nil || c.JSON {
		return c.print(env, record, err)
	}
	var changed struct {
		ID        string          `json:"id"`
		Frequency json.RawMessage `json:"frequency"`
	}
	if err := json.Unmarshal(record, &changed); err != nil {
		return fmt.Errorf("reading the service's response: %w", err)
	}
	_, err = fmt.Fprintf(env.out, "schedule %s runs at %s\n", changed.ID, changed.Frequency)
	return err
}

type schedulesRun struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
}

// Run makes a run of a schedule due now.
func (c *schedulesRun) Run(env *environment) error {
	record, err := c.record(env, http.MethodPost, "/api/schedules/"+url.PathEscape(c.ID)+"/run", nil)
	if err != nil || c.JSON {
		return c.print(env, record, err)
	}
	return c.printJob(env, record, "job %d is due %s")
}

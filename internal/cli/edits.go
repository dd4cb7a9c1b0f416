package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// editFlags say which fields change.
type editFlags struct {
	Set   []string `sep:"none" placeholder:"FIELD=VALUE" help:"Set a field of the API: a number, a duration such as '5 minutes', JSON, or text. May be repeated."`
	Unset []string `sep:"none" placeholder:"FIELD" help:"Remove a field, so that it has its default. May be repeated."`
	File  string   `short:"f" aliases:"patch" placeholder:"FILE" help:"A JSON or YAML file with fields to change, null to remove one; - for standard input."`
}

// body returns the fields as a merge patch. Those of --set and --unset replace the
// file's.
func (f *editFlags) body(env *environment) (rawjson.Value, error) {
	members, err := readFields(env, f.File)
	if err != nil {
		return nil, err
	}
	for _, text := range f.Set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, failed(statusUsage, "--set must be like FIELD=VALUE, not %q", text)
		}
		members = setField(members, name, setValue(name, value))
	}
	for _, name := range f.Unset {
		members = setField(members, name, rawjson.Value(`null`))
	}
	return rawjson.Object(members), nil
}

// revisionHeader returns the header of an edit of a revision; nil for any.
func revisionHeader(revision int64) http.Header {
	if revision == 0 {
		return nil
	}
	return http.Header{"If-Match": {fmt.Sprintf(`"%d"`, revision)}}
}

// edited sends a merge patch and returns the record after it.
func (c *serviceFlags) edited(env *environment, path string, body []byte, revision int64) ([]byte, error) {
	got, err := c.call(env, http.MethodPatch, path, body, revisionHeader(revision))
	if err != nil {
		return nil, err
	}
	return c.data(env, got)
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
	record, err := c.edited(env, jobPath(c.ID), body, c.Revision)
	return c.started(env, record, err, &waitFlags{}, c.due(env))
}

type jobsRerun struct {
	serviceFlags
	editFlags
	waitFlags
	ID string `arg:"" name:"id" help:"The job's number or id, or key:KEY."`
}

// Run creates a job that repeats another one.
func (c *jobsRerun) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	record, repeated, err := c.rerun(env, jobPath(c.ID), body)
	due := c.due(env)
	return c.started(env, record, err, &c.waitFlags, func(j *client.JobRecord) string {
		if j.Job.HasConflict {
			return found(j, repeated)
		}
		return due(j)
	})
}

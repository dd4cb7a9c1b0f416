package mcp

import (
	"context"
	"net/http"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const operationsPath = "/api/operations"

// manyInputs are the arguments of a tool that can change many jobs instead of one.
func (d *document) manyInputs() []input {
	filter := d.reduce(d.Components.Schemas["OperationFilter"], maxNest, false)
	filter["description"] = "Many jobs instead of job_id: all that match each member. The first call only counts them and returns a token for confirm."
	return []input{{name: "filter", schema: encode(filter)}, confirmInput}
}

// oneOrMany changes a job, or all jobs that a filter selects after a confirmation.
func oneOrMany(ctx context.Context, s *session, t *tool, a *arguments) (*result, error) {
	filter := a.get("filter")
	if (filter == nil) == (a.get("job_id") == nil) {
		return nil, complain("give either job_id or filter")
	}
	if filter == nil {
		return s.callOnce(ctx, t, a)
	}
	body := []rawjson.Member{{Name: "action", Value: rawjson.Quote(t.many)}, {Name: "filter", Value: filter}}
	if set := a.body(&t.call); set != nil {
		body = append(body, rawjson.Member{Name: "set", Value: set})
	}
	count, err := s.do(ctx, http.MethodPost, operationsPath, "",
		rawjson.Object(append(body, rawjson.Member{Name: "dry_run", Value: rawjson.Value("true")})))
	if err != nil {
		return nil, err
	}
	r := &result{data: count.data}
	matched := r.text("matched")
	if partial := rawjson.Get(r.data, "partial"); partial.Kind() == 't' {
		matched = "more than " + matched
	}
	first, err := s.confirm(t.name, string(rawjson.Object(body)), a, r, "The call would "+t.many+" "+matched+" jobs.")
	if first != nil || err != nil {
		return first, err
	}
	started, err := s.do(ctx, http.MethodPost, operationsPath, "", rawjson.Object(body))
	if err != nil {
		return nil, err
	}
	r = &result{data: started.data}
	r.fact("changed", rawjson.Value("true"))
	r.next = "An operation changes the jobs in the background. Read the resource " + scheme + "operations/" + r.text("id") +
		" to see how far it is, or call list_jobs."
	return r, nil
}

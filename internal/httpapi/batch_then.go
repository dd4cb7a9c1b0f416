package httpapi

import (
	"bytes"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// isObject reports whether a text begins as a JSON object does.
func isObject(text []byte) bool {
	rest := bytes.TrimLeft(text, jsonSpace)
	return len(rest) > 0 && rest[0] == '{'
}

var thenFields = []string{"jobs", "then"}

// splitThen splits a batch with a job that waits for the others.
func splitThen(text []byte, most int) (parts []part, then *service.BatchItem, err error) {
	body, err := rawjson.Read(text)
	if err != nil {
		return nil, nil, unreadable("the body is not readable JSON", err)
	}
	var problems fault.Problems
	var jobs rawjson.Value
	for _, m := range rawjson.Members(body) {
		switch {
		case m.Name == "jobs":
			jobs = m.Value
		case m.Name == "then" && !rawjson.IsNull(m.Value):
			then = &service.BatchItem{Body: m.Value}
			if len(m.Value) > maxItem(m.Value) {
				then = &service.BatchItem{Err: job.TooLarge()}
			}
		case m.Name != "then":
			detail := "is not a known field; the known ones are jobs and then"
			if near, ok := job.Nearest(m.Name, thenFields); ok {
				detail = "is not a known field; did you mean " + near + "?"
			}
			problems.Add(fault.Problem{Pointer: job.Pointer(m.Name), Detail: detail})
		}
	}
	if jobs.Kind() != '[' || len(rawjson.Elements(jobs)) == 0 {
		problems.Add(fault.Problem{Pointer: "#/jobs", Detail: "must be an array of at least one job"})
	}
	if then == nil && problems.Len() == 0 {
		problems.Add(fault.Problem{Pointer: "#/then",
			Detail: "is required, an object with the fields of a job; send the array of jobs itself for a batch without it"})
	}
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	parts, err = splitArray(jobs, most)
	return parts, then, err
}

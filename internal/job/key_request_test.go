package job

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestRefuseOtherRequest_ComparesPathAndBody(t *testing.T) {
	create := func(body string) *Job { return &Job{KeyRequest: CreateRequest(rawjson.Value(body))} }
	rerun := func(of int64, body string) *Job {
		return &Job{RerunOf: of, KeyRequest: RerunRequest(of, rawjson.Value(body))}
	}
	first := create(`{"url":"https://x","body":{"a":1,"b":2}}`)
	for name, c := range map[string]struct {
		holder, created *Job
		same            bool
	}{
		"the same":           {first, create(`{"url":"https://x","body":{"a":1,"b":2}}`), true},
		"another order":      {first, create(`{"body":{"b":2,"a":1},"url":"https://x"}`), true},
		"null":               {first, create(`{"url":"https://x","name":null,"body":{"a":1,"b":2}}`), true},
		"the key beside":     {first, create(`{"url":"https://x","idempotency_key":"k","body":{"a":1,"b":2}}`), true},
		"another body":       {first, create(`{"url":"https://x","body":{"a":1,"b":3}}`), false},
		"null deeper":        {first, create(`{"url":"https://x","body":{"a":1,"b":2,"c":null}}`), false},
		"a rerun":            {first, rerun(1, `{}`), false},
		"a key in the body":  {&Job{}, first, true},
		"of another job":     {rerun(1, `{}`), rerun(2, `{}`), false},
		"the same rerun":     {rerun(1, `{"name":"n"}`), rerun(1, `{"name":"n"}`), true},
		"a rerun that edits": {rerun(1, `{}`), rerun(1, `{"name":null}`), false},
		"no rerun":           {&Job{}, rerun(1, `{}`), false},
	} {
		err := RefuseOtherRequest(c.holder, c.created)
		if (err == nil) != c.same || err != nil && fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%s: %v, same: %v", name, err, c.same)
		}
	}
}

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
		"the key beside":     {first, create(`{"url":"https://x","idempotency_key":"k","request_id":"r","body":{"a":1,"b":2}}`), true},
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

func TestRequestKey_KeepsUUIDsAndDigestsTheRest(t *testing.T) {
	for _, id := range []string{"01a05e38-db8b-7a55-8c0e-6b1f3f6f9d21", "f47ac10b-58cc-4372-a567-0e02b2c3d479"} {
		if got := RequestKey(id).String(); got != id {
			t.Errorf("%s became %s", id, got)
		}
	}
	seen := map[string]string{}
	for _, id := range []string{"a", "b", "", "00000000-0000-0000-0000-000000000000", "01A05E38-DB8B-7A55-8C0E-6B1F3F6F9D21",
		"{01a05e38-db8b-7a55-8c0e-6b1f3f6f9d21}", RequestKey("a").String()} {
		key := RequestKey(id)
		if key.Version() != 8 || seen[key.String()] != "" {
			t.Errorf("%q became %s, as %q", id, key, seen[key.String()])
		}
		seen[key.String()] = id
	}
}

func TestRequestIDOf_ReturnsWhatCouldBeRight(t *testing.T) {
	for body, want := range map[string]string{
		`{"request_id":"r"}`: "r", `{"url":1,"request_id":"\u00e4"}`: "ä", `{}`: "", `[]`: "", `null`: "", `{"request_id":7}`: "",
		`{"request_id":"\u0000"}`: "",
	} {
		if got := RequestIDOf(rawjson.Value(body)); got != want {
			t.Errorf("%s has %q, want %q", body, got, want)
		}
	}
}

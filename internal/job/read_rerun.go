package job

import (
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// ReadRerun reads a request for a new job that repeats j, once and at once, apart
// from the fields in the body; null removes one. The limits and secrets that the new
// job names must be there. The error is a fault that lists every problem.
func ReadRerun(j *Job, body rawjson.Value, opts ReadOptions) (*Draft, error) {
	p := &patch{
		args: repeated(j.Args), hidden: j.Hidden, name: j.Name, description: j.Description,
		key: opts.HeaderKey, places: EditJob, opts: opts, creates: true, given: map[string]bool{},
	}
	return p.read(body)
}

// repeated returns the args of a job that makes the same request once and at once.
func repeated(args rawjson.Value) rawjson.Value {
	var without []rawjson.Member
	for _, f := range table {
		if f.In&EditJob == 0 || f.Needs == keyField || IsTiming(f.Name) {
			without = append(without, rawjson.Member{Name: f.Name, Value: null})
		}
	}
	return Merge(args, without)
}

// Again returns the body of a create request for a new job that makes the same
// request as j, once and at once.
func Again(j *Job) rawjson.Value {
	p := &patch{name: j.Name, description: j.Description}
	return rawjson.Object(p.whole(repeated(j.Args), nil))
}

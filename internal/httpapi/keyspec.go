package httpapi

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// readKeySpec reads a body that is an object with the fields of a new key, all of
// them optional. Package auth validates their values.
func (c *call) readKeySpec() (spec auth.KeySpec, err error) {
	body, err := c.readBody()
	if err != nil {
		return spec, err
	}
	var problems fault.Problems
	refuse := func(pointer, detail string) {
		problems.Add(fault.Problem{Pointer: pointer, Detail: detail})
	}
	if body.Kind() != '{' {
		refuse("#", "must be a JSON object")
	}
	for _, m := range rawjson.Members(body) {
		at := job.Pointer(m.Name)
		switch isText := m.Value.Kind() == '"'; {
		case m.Name != "name" && m.Name != "scope" && m.Name != "expires_at" && m.Name != "cidrs":
			refuse(at, "is not a known field; the known ones are name, scope, expires_at and cidrs")
		case rawjson.IsNull(m.Value):
		case m.Name == "cidrs":
			readCIDRs(m.Value, &spec, refuse)
		case !isText:
			refuse(at, "must be a string")
		case m.Name == "name":
			spec.Name = rawjson.Text(m.Value)
		case m.Name == "scope":
			if spec.Scope = identity.Scope(rawjson.Text(m.Value)); spec.Scope == "" {
				refuse(at, "must be read, jobs or admin")
			}
		default:
			if spec.ExpiresAt, err = job.ReadInstant(rawjson.Text(m.Value)); err != nil {
				refuse(at, err.Error())
			}
		}
	}
	return spec, problems.Err()
}

func readCIDRs(v rawjson.Value, spec *auth.KeySpec, refuse func(pointer, detail string)) {
	if v.Kind() != '[' {
		refuse("#/cidrs", "must be a list of networks")
		return
	}
	elements := rawjson.Elements(v)
	if len(elements) > auth.MaxCIDRs {
		refuse("#/cidrs", auth.TooManyCIDRs)
		return
	}
	for i, e := range elements {
		if e.Kind() != '"' {
			refuse(job.Pointer("cidrs", strconv.Itoa(i)), "must be a string")
			continue
		}
		spec.CIDRs = append(spec.CIDRs, rawjson.Text(e))
	}
}

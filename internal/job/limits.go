package job

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// limitsField is the field that names limits.
const limitsField = "limits"

func readLimits(r *reader, f *Field, v rawjson.Value) {
	elements := r.list(f, v, 0, limit.MaxNamed, "names of limits, as in [\"stripe\", \"tenant-42\"]")
	var seen []string
	for i, element := range elements {
		pointer := Pointer(f.Name, strconv.Itoa(i))
		if element.Kind() != '"' {
			r.refuse(pointer, "must be a string, the key of a limit")
			continue
		}
		key, valid := LimitKey(rawjson.Text(element))
		switch {
		case !valid:
			r.refuse(pointer, limit.KeyRule)
		case slices.Contains(seen, key):
			r.refuse(pointer, "is named twice")
		case r.opts.HasLimit != nil && !r.opts.HasLimit(key):
			r.refuse(pointer, "is not a defined limit; define it with PUT /api/limits/%s", key)
		}
		seen = append(seen, key)
	}
}

func limitsOf(v rawjson.Value) []string {
	var keys []string
	for _, element := range rawjson.Elements(v) {
		key, _ := LimitKey(rawjson.Text(element))
		keys = append(keys, key)
	}
	return keys
}

// LimitKey returns the key of a limit as it is stored: a host in it is written as Host
// returns it. valid is false if the key can't be that of a limit; see limit.KeyRule.
func LimitKey(text string) (key string, valid bool) {
	host, ofHost := strings.CutPrefix(text, limit.HostPrefix)
	if !ofHost {
		return text, limit.ValidName(text)
	}
	host, why := ReadHost(host)
	return limit.HostPrefix + host, why == ""
}

var limitsMember = []byte(`"` + limitsField + `"`)

// LimitsNamed returns the keys of the limits that args name. A run with a group sends no
// request, so limits hold only the jobs that it becomes.
func LimitsNamed(args rawjson.Value) []string {
	if !bytes.Contains(args, limitsMember) || GroupNamed(args) != "" {
		return nil
	}
	spec := ReadSpec(args)
	return spec.Limits
}

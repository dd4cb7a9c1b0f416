package job

import (
	"bytes"
	"slices"
	"strconv"

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
		key := rawjson.Text(element)
		switch {
		case !limit.ValidKey(key):
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
		keys = append(keys, rawjson.Text(element))
	}
	return keys
}

var limitsMember = []byte(`"` + limitsField + `"`)

// LimitsNamed returns the keys of the limits that args name.
func LimitsNamed(args rawjson.Value) []string {
	if !bytes.Contains(args, limitsMember) {
		return nil
	}
	spec := ReadSpec(args)
	return spec.Limits
}

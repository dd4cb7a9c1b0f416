package google

import (
	"encoding/base64"
	"strconv"
	"strings"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// How many records a page has at most, and by default.
const (
	maxQueues = 1000
	maxTasks  = 1000
	maxJobs   = 500
)

// pageSize returns how many records a page has.
func pageSize(given int32, most int) (int, error) {
	switch {
	case given < 0:
		return 0, invalid("page_size", "page_size must not be negative")
	case given == 0 || int(given) > most:
		return most, nil
	}
	return int(given), nil
}

// maxToken bounds page tokens, in bytes.
const maxToken = 1024

// tokenOf returns the token of the page after a place. It is good for a list with the
// same scope only.
func tokenOf(place, scope string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(hashed(scope, 8) + place))
}

// readToken returns the place in a page token; "" for the first page.
func readToken(token, scope string) (place string, err error) {
	if token == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	place, ok := strings.CutPrefix(string(text), hashed(scope, 8))
	if err != nil || !ok || len(token) > maxToken {
		return "", invalid("page_token", "page_token is not one of this list; leave it out, and begin at the first page")
	}
	return place, nil
}

// readFilter returns the filter of a list of queues.
func readFilter(text string) (keep func(*cloudtaskspb.Queue) bool, err error) {
	if strings.TrimSpace(text) == "" {
		return func(*cloudtaskspb.Queue) bool { return true }, nil
	}
	field, value, found := strings.Cut(text, "=")
	if !found {
		field, value, found = strings.Cut(text, ":")
	}
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	state, known := cloudtaskspb.Queue_State_value[strings.ToUpper(value)]
	if !found || strings.TrimSpace(field) != "state" || !known {
		return nil, unsupported("filter", `it can only select a state, as in state: PAUSED`)
	}
	return func(q *cloudtaskspb.Queue) bool { return int32(q.GetState()) == state }, nil
}

// masked sets the fields of a message that an update mask names to those of another one;
// all if it names none. Fields that are output only stay.
func masked(into, from proto.Message, mask *fieldmaskpb.FieldMask, fixed ...string) error {
	isFixed := map[string]bool{}
	for _, name := range fixed {
		isFixed[name] = true
	}
	paths := mask.GetPaths()
	if len(paths) == 1 && paths[0] == "*" {
		paths = nil
	}
	if len(paths) > maxPaths {
		return invalid("update_mask", "update_mask may have "+strconv.Itoa(maxPaths)+" paths")
	}
	if len(paths) == 0 {
		fields := into.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			paths = append(paths, string(fields.Get(i).Name()))
		}
	}
	for _, path := range paths {
		if first, _, _ := strings.Cut(path, "."); isFixed[first] {
			continue
		}
		if !setPath(into.ProtoReflect(), from.ProtoReflect(), path) {
			return invalid("update_mask", "update_mask names "+strconv.Quote(path)+", which is not a field")
		}
	}
	return nil
}

// maxPaths bounds the paths of an update mask.
const maxPaths = 100

// setPath sets the field at a path, and reports whether there is one.
func setPath(into, from protoreflect.Message, path string) bool {
	name, rest, nested := strings.Cut(path, ".")
	field := into.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch {
	case field == nil:
		return false
	case nested:
		return field.Message() != nil && !field.IsList() && !field.IsMap() &&
			setPath(into.Mutable(field).Message(), from.Get(field).Message(), rest)
	case from.Has(field):
		into.Set(field, from.Get(field))
	case into.Has(field):
		into.Clear(field)
	}
	return true
}

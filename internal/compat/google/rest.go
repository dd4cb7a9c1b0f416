package google

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/httpapi"
)

// route is a path of REST as an annotation google.api.http describes it.
type route struct {
	method *method
	verb   string   // of HTTP
	before []string // the steps of the path before the variable
	field  string   // of the request that the variable is, such as queue.name
	within []string // the steps of the variable, with * for any
	after  []string // the steps after the variable
	suffix string   // such as :pause
	body   string   // the field that the body is, * for the whole request, "" for none
}

// annotated returns the routes of a method.
func (m *method) annotated() []route {
	service, name, _ := strings.Cut(m.path[1:], "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	if err != nil {
		return nil
	}
	rule, _ := proto.GetExtension(found.Options(), annotations.E_Http).(*annotations.HttpRule)
	if rule == nil {
		return nil
	}
	routes := []route{routeOf(m, rule)}
	for _, more := range rule.GetAdditionalBindings() {
		routes = append(routes, routeOf(m, more))
	}
	return routes
}

func routeOf(m *method, rule *annotations.HttpRule) route {
	r := route{method: m, body: rule.GetBody()}
	path := ""
	switch pattern := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		r.verb, path = http.MethodGet, pattern.Get
	case *annotations.HttpRule_Post:
		r.verb, path = http.MethodPost, pattern.Post
	case *annotations.HttpRule_Put:
		r.verb, path = http.MethodPut, pattern.Put
	case *annotations.HttpRule_Patch:
		r.verb, path = http.MethodPatch, pattern.Patch
	case *annotations.HttpRule_Delete:
		r.verb, path = http.MethodDelete, pattern.Delete
	}
	before, rest, _ := strings.Cut(path, "{")
	variable, after, _ := strings.Cut(rest, "}")
	if at := strings.IndexByte(after, ':'); at >= 0 {
		after, r.suffix = after[:at], after[at:]
	}
	field, within, _ := strings.Cut(variable, "=")
	r.before, r.field, r.within, r.after = steps(before), field, steps(within), steps(after)
	return r
}

func steps(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(step string) bool { return step == "" })
}

// match returns the route for a path and the value of its variable.
func (a *API) match(verb, path string) (*route, string) {
	given := steps(path)
	for i := range a.routes {
		r := &a.routes[i]
		if r.verb != verb {
			continue
		}
		if value, ok := r.value(given); ok {
			return r, value
		}
	}
	return nil, ""
}

func (r *route) value(given []string) (string, bool) {
	if len(given) != len(r.before)+len(r.within)+len(r.after) {
		return "", false
	}
	given = slices.Clone(given)
	last, suffix := given[len(given)-1], ""
	if at := strings.IndexByte(last, ':'); at >= 0 {
		last, suffix = last[:at], last[at:]
	}
	if suffix != r.suffix {
		return "", false // of another method
	}
	given[len(given)-1] = last
	for i := range given {
		step, err := url.PathUnescape(given[i])
		if err != nil {
			return "", false
		}
		given[i] = step
	}
	middle := given[len(r.before) : len(r.before)+len(r.within)]
	for i, want := range r.within {
		if want != "*" && middle[i] != want || middle[i] == "" || strings.Contains(middle[i], "/") {
			return "", false
		}
	}
	if !slices.Equal(given[:len(r.before)], r.before) || !slices.Equal(given[len(given)-len(r.after):], r.after) {
		return "", false
	}
	return strings.Join(middle, "/"), true
}

// serveREST serves a call by REST.
func (a *API) serveREST(f *httpapi.ForeignCall, r *route, value string) error {
	request := r.method.request.New().Interface()
	if err := r.read(f, request); err != nil {
		return err
	}
	query, err := url.ParseQuery(strings.ReplaceAll(f.Request.URL.RawQuery, ";", "%3B")) // as clients write $alt
	if err != nil {
		return fault.New(fault.Unreadable, "the query can't be decoded")
	}
	enumsAsNumbers := false
	for name, values := range query {
		if systemParameter(name) {
			enumsAsNumbers = enumsAsNumbers || strings.Contains(values[0], "enum-encoding=int")
			continue
		}
		if err := setField(request.ProtoReflect(), name, values); err != nil {
			return err
		}
	}
	if err := setField(request.ProtoReflect(), r.field, []string{value}); err != nil {
		return err
	}
	response, err := r.method.serve(&call{ForeignCall: f, api: a, ctx: f.Request.Context()}, request)
	if err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{UseEnumNumbers: enumsAsNumbers}.Marshal(response)
	if err != nil {
		return err
	}
	f.Header().Set("Content-Type", "application/json; charset=UTF-8")
	f.WriteHeader(http.StatusOK)
	_, _ = f.Write(text) // fails only if the client is gone
	return nil
}

// systemParameter reports whether a parameter is one that all of Google's APIs have, see
// https://cloud.google.com/apis/docs/system-parameters.
func systemParameter(name string) bool {
	switch strings.TrimPrefix(name, "$") {
	case "alt", "key", "access_token", "prettyPrint", "quotaUser", "fields", "xgafv", "callback", "oauth_token", "upload_protocol",
		"uploadType", ".xgafv":
		return true
	}
	return false
}

// read reads the body into a request.
func (r *route) read(f *httpapi.ForeignCall, request proto.Message) error {
	text, err := f.ReadAll(maxMessage)
	if err != nil || r.body == "" || len(text) == 0 {
		return err
	}
	leave, err := f.EnterParsing(len(text))
	if err != nil {
		return err
	}
	defer leave()
	into := request.ProtoReflect()
	if r.body != "*" {
		into = into.Mutable(into.Descriptor().Fields().ByName(protoreflect.Name(r.body))).Message()
	}
	if err := (protojson.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(text, into.Interface()); err != nil {
		return fault.New(fault.Unreadable, "Invalid JSON payload received. "+plain(err))
	}
	return nil
}

// maxDepth is how deep messages may nest.
const maxDepth = 32

// plain returns an error of protojson without what varies between builds.
func plain(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimPrefix(text, "proto: ")
}

// setField sets a field of a message from the texts of a parameter: queue.name is a field
// of a field.
func setField(m protoreflect.Message, name string, values []string) error {
	first, rest, nested := strings.Cut(name, ".")
	fields := m.Descriptor().Fields()
	field := fields.ByJSONName(first)
	if field == nil {
		field = fields.ByName(protoreflect.Name(first))
	}
	unknown := fault.New(fault.Unreadable, "Invalid JSON payload received. Unknown name "+strconv.Quote(name)+
		": Cannot bind query parameter.")
	switch {
	case field == nil:
		return unknown
	case nested:
		if field.Message() == nil || field.IsList() || field.IsMap() || strings.Count(rest, ".") > maxDepth {
			return unknown
		}
		return setField(m.Mutable(field).Message(), rest, values)
	}
	if field.Message() != nil && field.Message().FullName() == fieldMaskName {
		m.Set(field, protoreflect.ValueOfMessage(readMask(values).ProtoReflect()))
		return nil
	}
	text, err := fieldJSON(field, values)
	if err == nil {
		part := m.New().Interface()
		if err = protojson.Unmarshal(text, part); err == nil {
			m.Set(field, part.ProtoReflect().Get(field))
			return nil
		}
	}
	return fault.New(fault.Unreadable, "Invalid value at "+strconv.Quote(name))
}

const fieldMaskName = "google.protobuf.FieldMask"

// readMask reads a mask from the texts of a parameter. As at Google, fields may have the
// names of JSON or those of the messages, and * stands for all: protojson takes neither of
// the last two.
func readMask(values []string) *fieldmaskpb.FieldMask {
	mask := &fieldmaskpb.FieldMask{}
	for _, path := range strings.Split(values[len(values)-1], ",") {
		var snake strings.Builder
		for _, char := range path {
			if 'A' <= char && char <= 'Z' {
				snake.WriteByte('_')
				char += 'a' - 'A'
			}
			snake.WriteRune(char)
		}
		if path != "" {
			mask.Paths = append(mask.Paths, snake.String())
		}
	}
	return mask
}

// fieldJSON returns a message as JSON that has one field.
func fieldJSON(field protoreflect.FieldDescriptor, values []string) ([]byte, error) {
	var value any = values[len(values)-1]
	switch {
	case field.IsList():
		value = values
	case field.Kind() == protoreflect.BoolKind:
		value = values[len(values)-1] == "true"
	case field.Kind() == protoreflect.EnumKind:
		if n, err := strconv.Atoi(values[len(values)-1]); err == nil {
			value = n
		}
	}
	return json.Marshal(map[string]any{field.JSONName(): value})
}

// failREST writes an error as Google's REST APIs do.
func failREST(w http.ResponseWriter, s *status.Status) {
	found := httpStatus(s.GetCode())
	text, err := protojson.Marshal(s)
	shown := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &shown)
	}
	shown["code"], shown["status"] = found, code.Code(s.GetCode()).String()
	text, err2 := json.Marshal(map[string]any{"error": shown})
	if err != nil || err2 != nil {
		text = []byte(`{"error":{"code":500,"status":"INTERNAL"}}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(found)
	_, _ = w.Write(text) // fails only if the client is gone
}

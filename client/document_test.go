package client

import (
	"encoding/json"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
)

type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
	AllOf      []schema          `json:"allOf"`
	OneOf      []schema          `json:"oneOf"`
	AnyOf      []schema          `json:"anyOf"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
}

type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

func read(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile("../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	// What isn't an object (parameters of a path) is of no interest here.
	var raw struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	var doc document
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	for _, item := range raw.Paths {
		delete(item, "parameters")
	}
	paths, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(paths, &doc); err != nil {
		t.Fatal(err)
	}
	var components struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &components); err != nil {
		t.Fatal(err)
	}
	doc.Components.Schemas = map[string]schema{}
	for name, text := range components.Components.Schemas {
		var s schema
		if json.Unmarshal(text, &s) == nil { // schemas with boolean parts are not compared
			doc.Components.Schemas[name] = s
		}
	}
	return doc
}

// notCalled are operations for operators and readers, not for programs, and the
// WebSocket of punctual listen.
var notCalled = []string{"getHealth", "getReadiness", "getMetrics", "getOpenAPI", "getReference", "getIssuer", "getIssuerKeys", "listen"}

func TestClient_HasAMethodForEveryOperation(t *testing.T) {
	methods := reflect.TypeFor[*Client]()
	for path, item := range read(t).Paths {
		for _, operation := range item {
			id := operation.OperationID
			if slices.Contains(notCalled, id) {
				continue
			}
			name := string(unicode.ToUpper(rune(id[0]))) + id[1:]
			if _, found := methods.MethodByName(name); !found {
				t.Errorf("%s: there is no method %s", path, name)
			}
		}
	}
}

// at finds a schema by its name and a path of properties below it.
func (d document) at(t *testing.T, path string) map[string]bool {
	t.Helper()
	names := strings.Split(path, ".")
	s, known := d.Components.Schemas[names[0]]
	if !known {
		t.Fatalf("there is no schema %s", names[0])
	}
	for _, name := range names[1:] {
		found, next := d.member(s, name)
		if !found {
			t.Fatalf("%s: there is no %s", path, name)
		}
		s = next
	}
	properties := map[string]bool{}
	d.collect(s, properties)
	return properties
}

func (d document) resolve(s schema) schema {
	for s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

func (d document) parts(s schema) []schema { return slices.Concat(s.AllOf, s.OneOf, s.AnyOf) }

// member finds a property in a schema or its parts; of a list, in its items.
func (d document) member(s schema, name string) (bool, schema) {
	s = d.resolve(s)
	if p, found := s.Properties[name]; found {
		return true, p
	}
	for _, part := range d.parts(s) {
		if found, p := d.member(part, name); found {
			return true, p
		}
	}
	if s.Items != nil {
		return d.member(*s.Items, name)
	}
	return false, schema{}
}

func (d document) collect(s schema, into map[string]bool) {
	s = d.resolve(s)
	for name := range s.Properties {
		into[name] = true
	}
	for _, part := range d.parts(s) {
		d.collect(part, into)
	}
	if s.Items != nil {
		d.collect(*s.Items, into)
	}
}

// fields collects the JSON names of a struct's fields.
func fields(of reflect.Type, into map[string]bool) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			fields(field.Type, into)
		case name != "-" && token.IsExported(field.Name):
			into[name] = true
		}
	}
}

// TestConstants_AreTheValuesOfTheDocument compares them with the document's enumerations.
func TestConstants_AreTheValuesOfTheDocument(t *testing.T) {
	doc := read(t)
	for path, got := range map[string][]string{
		"JobState":               {Available, Executing, Retryable, Completed, Cancelled, Discarded},
		"JobRequest.catch_up":    {CatchUpOne, CatchUpNone, CatchUpAll},
		"JobRequest.on_conflict": {ConflictReturn, ConflictRefuse, ConflictReplace, ConflictDebounce},
		"JobRequest.callback_on": {OnFinal, OnFailure, OnSuccess},
		"JobRequest.after.on":    {OnCompleted, OnFinal},
	} {
		if want := doc.enum(t, path); !slices.Equal(got, want) {
			t.Errorf("%s has %q, the client %q", path, want, got)
		}
	}
}

// enum returns the values of a schema, null left out.
func (d document) enum(t *testing.T, path string) (values []string) {
	t.Helper()
	names := strings.Split(path, ".")
	s := d.Components.Schemas[names[0]]
	for _, name := range names[1:] {
		_, s = d.member(s, name)
	}
	for _, part := range append(d.parts(s), d.resolve(s)) {
		for _, value := range d.resolve(part).Enum {
			if text, ok := value.(string); ok {
				values = append(values, text)
			}
		}
	}
	return values
}

func TestTypes_HaveTheFieldsOfTheDocument(t *testing.T) {
	doc := read(t)
	for path, value := range map[string]any{
		"JobRequest": JobRequest{}, "Completion": Completion{}, "JobRecord": JobRecord{}, "Job": Job{}, "MinimalJob": MinimalJob{},
		"BatchOutcomes.data": BatchOutcome{}, "JobDetailsAnswer.data": JobDetails{}, "AttemptSummary": AttemptSummary{},
		"Failure":         Failure{},
		"CompletionState": CompletionState{}, "CompletionState.progress": Progress{}, "JobDetailsAnswer.data.points": Points{},
		"JobDetailsAnswer.data.deliveries": Deliveries{}, "RevisionsAnswer.data": Revision{}, "RevisionsAnswer.data.by": Editor{},
		"RevisionsAnswer.data.changes": Change{}, "Preview.data": Preview{}, "JobCounts.data": JobCounts{}, "Report": Report{},
		"ScheduleRecord": ScheduleRecord{}, "Frequency": Frequency{}, "ScheduleDetailsAnswer.data": ScheduleDetails{},
		"StateAnswer.data": State{},
		"Document":         Document{}, "ApplyResult": ApplyResult{}, "ApplyResult.diff": Change{},
		"OperationRequest": OperationRequest{}, "OperationFilter": OperationFilter{}, "OperationRecord": OperationRecord{},
		"LimitUseAnswer.data": LimitUse{}, "Limit": Limit{}, "Limit.rate": Rate{}, "AlertRequest": AlertRequest{},
		"AlertMatch":    AlertMatch{},
		"AlertReceiver": AlertReceiver{}, "Alert": Alert{}, "AlertTestAnswer.data": AlertTest{},
		"AlertTestAnswer.data.results": AlertTestResult{},
		"NewHeaderSecret":              NewHeaderSecret{}, "NewHeaderSecret.oauth2": OAuth2{}, "HeaderSecret": HeaderSecret{},
		"AccountAnswer.data": Account{}, "AccountAnswer.data.limits": AccountLimits{}, "AccountAnswer.data.usage": AccountUsage{},
		"KeyAnswer.data": APIKey{}, "NewKey": NewKey{}, "SecretList.data": SigningSecret{}, "AuditEntry": AuditEntry{},
		"AuditEntry.actor": Actor{},
		"StatsResponse":    Stats{}, "StatsResponse.data": MinuteStats{}, "RunStats": RunStats{}, "Percentiles": Percentiles{},
		"RehearsalRequest": RehearsalRequest{}, "RehearsalRequest.outages": Outage{}, "RehearsalResult": Rehearsed{},
		"RehearsalCut":      RehearsalCut{},
		"RehearsedSchedule": RehearsedSchedule{}, "RehearsedSchedule.clock": ClockChange{}, "RehearsedSchedule.limited": Limited{},
		"RehearsedSchedule.ends": ScheduleEnd{}, "RehearsalResult.busiest": BusyMinute{}, "Finding": Finding{}, "Comparison": Comparison{},
		"ComparedSchedule": ComparedSchedule{}, "ComparedSchedule.difference": RunDifference{},
		"ComparedSchedule.difference.first": FirstDifference{},
		"LogRecord":                         LogRecord{}, "Problem": Problem{}, "ProblemEntry": ProblemEntry{},
	} {
		want, got := doc.at(t, path), map[string]bool{}
		fields(reflect.TypeOf(value), got)
		for name := range want {
			if !got[name] {
				t.Errorf("%T lacks %s, which %s has", value, name, path)
			}
		}
		for name := range got {
			if !want[name] {
				t.Errorf("%T has %s, which %s lacks", value, name, path)
			}
		}
	}
}

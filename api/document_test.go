package api_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/internal/yamljson"
)

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.JSON())
	if err != nil {
		t.Fatalf("the document can't be loaded: %v", err)
	}
	return doc
}

func TestJSONIsGeneratedFromYAML(t *testing.T) {
	written, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := yamljson.Convert(written)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, api.JSON()) {
		t.Error("openapi.json is not what openapi.yaml says; run go generate ./api")
	}
	onDisk, err := os.ReadFile("openapi.json")
	if err != nil || !bytes.Equal(onDisk, api.JSON()) {
		t.Errorf("the embedded document is not the file: %v", err)
	}
}

func TestJSONReturnsCopies(t *testing.T) {
	api.JSON()[0] = 0
	if api.JSON()[0] == 0 {
		t.Error("a caller's change shows in the next copy")
	}
}

func TestDocumentIsValid(t *testing.T) {
	if err := load(t).Validate(context.Background(), openapi3.EnableMultiError()); err != nil {
		t.Error(err)
	}
}

// eachOperation visits paths, callbacks and webhooks alike.
func eachOperation(doc *openapi3.T, visit func(where string, op *openapi3.Operation)) {
	item := func(where string, p *openapi3.PathItem) {
		for method, op := range p.Operations() {
			visit(method+" "+where, op)
			for name, cb := range op.Callbacks {
				for expression, p := range cb.Value.Map() {
					for method, op := range p.Operations() {
						visit("callback "+name+" "+method+" "+expression, op)
					}
				}
			}
		}
	}
	for path, p := range doc.Paths.Map() {
		item(path, p)
	}
	for name, p := range doc.Webhooks {
		item("webhook "+name, p)
	}
}

func TestOperationsAreNamedOnceAndDescribed(t *testing.T) {
	ids := map[string]string{}
	eachOperation(load(t), func(where string, op *openapi3.Operation) {
		if op.OperationID == "" || op.Summary == "" || op.Description == "" {
			t.Errorf("%s: operationId, summary and description are all needed", where)
		}
		if other, taken := ids[op.OperationID]; taken {
			t.Errorf("operationId %s names both %s and %s", op.OperationID, other, where)
		}
		ids[op.OperationID] = where
	})
	for _, id := range []string{
		"createJob", "listJobs", "countJobs", "followEvents", "exportLogs", "previewJob", "editSchedule", "getState", "putState",
		"deleteState", "cancelJobs", "editJob", "getJobDetails", "listJobRevisions", "putSchedule", "runSchedule", "getScheduleDetails",
		"listScheduleRevisions", "runJob", "rerunJob", "getJob", "cancelJob", "listSchedules", "getSchedule", "disableSchedule",
		"enableSchedule",
		"deleteSchedule", "listLogs", "getLog", "broadcast", "ping", "echo", "getHealth", "getReadiness", "getMetrics",
		"getOpenAPI", "getReference", "receiveCallback", "onJobStarted", "onJobRequest", "onJobResponse", "onJobError", "onJobFinished",
	} {
		if ids[id] == "" {
			t.Errorf("there is no operation %s", id)
		}
	}
}

func TestEveryCallThatNeedsAKeySaysSo(t *testing.T) {
	doc := load(t)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			open := op.Security != nil && len(*op.Security) == 0
			refuses := op.Responses.Value("401") != nil
			if open == refuses {
				t.Errorf("%s %s: needs a key %v, documents 401 %v", method, path, !open, refuses)
			}
			if !open && !strings.HasPrefix(path, "/api/") {
				t.Errorf("%s %s: asks for a key outside of /api/", method, path)
			}
			if readsBody := op.RequestBody != nil; readsBody != (op.Responses.Value("415") != nil) {
				t.Errorf("%s %s: 415 goes with a body that is read", method, path)
			}
			if strings.HasPrefix(path, "/.well-known/") {
				continue // 404 without an issuer
			}
			if named := strings.Contains(path, "{") && op.OperationID != "putHeaderSecret" && op.OperationID != "putAlert" &&
				op.OperationID != "putLimit" && op.OperationID != "putGroup" ||
				op.OperationID == "cancelJobs"; named != (op.Responses.Value("404") != nil) {
				t.Errorf("%s %s: 404 goes with an id in the path", method, path)
			}
		}
	}
}

func TestRecordsListEveryKey(t *testing.T) {
	doc := load(t)
	for name, keys := range map[string]string{
		"JobRecord":      "id idempotency_key inserted_at name description user_id schedule_id job_id job args",
		"Job":            "attempted_at cancelled_at completed_at discarded_at has_confict id inserted_at scheduled_at state",
		"ScheduleRecord": "id name description inserted_at disabled_at user_id frequency args",
		"LogRecord":      "event id inserted_at job_id payload user_id",
	} {
		s := doc.Components.Schemas[name].Value
		if got := strings.Join(s.Required, " "); got != keys {
			t.Errorf("%s requires %s, want %s", name, got, keys)
		}
		if len(s.Properties) != len(s.Required) {
			t.Errorf("%s has %d properties and requires %d", name, len(s.Properties), len(s.Required))
		}
	}
}

package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/punctual-dev/punctual/internal/job"
)

// addTypes collects the JSON types that a schema accepts, null apart. A schema
// that names none accepts all.
func addTypes(types map[string]bool, s *openapi3.Schema) {
	alternatives := slices.Concat(s.AnyOf, s.OneOf)
	switch {
	case s.Type != nil:
		for _, name := range s.Type.Slice() {
			types[name] = true
		}
	case len(alternatives) == 0:
		for _, name := range []string{"array", "boolean", "number", "object", "string"} {
			types[name] = true
		}
	default:
		for _, alternative := range alternatives {
			addTypes(types, alternative.Value)
		}
	}
	delete(types, "null")
}

func TestJobRequest_ListsTheFieldsOfAJob(t *testing.T) {
	schemas := load(t).Components.Schemas
	properties := maps.Clone(schemas["JobRequest"].Value.Properties)
	form := map[string]bool{}
	for name := range schemas["JobForm"].Value.Properties {
		base, _, _ := strings.Cut(name, "[")
		form[base] = true
	}
	for _, f := range job.Fields() {
		property, ok := properties[f.Name]
		if !ok {
			t.Errorf("JobRequest does not list %s, which is in the table of fields", f.Name)
			continue
		}
		delete(properties, f.Name)
		types := map[string]bool{}
		addTypes(types, property.Value)
		if got := slices.Sorted(maps.Keys(types)); !slices.Equal(got, f.JSONTypes()) {
			t.Errorf("JobRequest.%s accepts %q, the table of fields has %q", f.Name, got, f.JSONTypes())
		}
		if !form[f.Name] {
			t.Errorf("JobForm does not list %s", f.Name)
		}
		delete(form, f.Name)
	}
	for name := range properties {
		t.Errorf("JobRequest lists %s, which is not in the table of fields", name)
	}
	for name := range form {
		t.Errorf("JobForm lists %s, which is not in the table of fields", name)
	}
}

// The parameters of lists and OperationFilter are the table of filters.
func TestLists_DocumentTheirFilters(t *testing.T) {
	doc := load(t)
	others := []string{"mask", "q", "include", "limit", "offset", "order_by", "cursor"}
	for path, list := range map[string]job.Lists{
		"/api/jobs": job.OfJobs, "/api/jobs/counts": job.OfJobs, "/api/schedules": job.OfSchedules, "/api/logs": job.OfLogs,
		"/api/logs/export": job.OfLogs,
	} {
		var documented []string
		for _, p := range doc.Paths.Value(path).Get.Parameters {
			if !slices.Contains(others, p.Value.Name) {
				documented = append(documented, p.Value.Name)
			}
		}
		if want := job.FilterNames(list); !equalSets(documented, want) {
			t.Errorf("%s documents the filters %q, the table has %q", path, documented, want)
		}
	}
	var members []string
	for _, f := range job.FiltersOf(job.OfOperations) {
		members = append(members, f.InFilter())
	}
	documented := slices.Collect(maps.Keys(doc.Components.Schemas["OperationFilter"].Value.Properties))
	if !equalSets(documented, members) {
		t.Errorf("OperationFilter has the members %q, the table has %q", documented, members)
	}
}

func equalSets(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

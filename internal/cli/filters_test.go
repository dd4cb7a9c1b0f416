package cli

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Each flag that selects jobs reaches the request of an operation, and none can be given
// without a value: an operation without its filter would change too many jobs.
func TestOperationsStart_IgnoresNoFilter(t *testing.T) {
	const value = "01920000-0000-7000-8000-000000000000"
	members := 0
	walk := func(of reflect.Type, set func(c *operationsStart, name, value string)) {
		for i := range of.NumField() {
			f := of.Field(i)
			if f.Type != reflect.TypeFor[chosen]() && f.Type != reflect.TypeFor[[]chosen]() {
				if f.Anonymous || of == reflect.TypeFor[operationsStart]() {
					continue
				}
				t.Errorf("--%s can be empty", f.Name)
				continue
			}
			members++
			c := &operationsStart{Action: "cancel"}
			set(c, f.Name, value)
			body, err := c.body(&environment{ctx: t.Context()})
			if err != nil || !strings.Contains(string(rawjson.Get(body, "filter")), value) {
				t.Errorf("%s is not in the request %s: %v", f.Name, body, err)
			}
		}
	}
	set := func(c *operationsStart, name, value string) {
		v := reflect.ValueOf(c).Elem().FieldByName(name)
		if v.Kind() == reflect.Slice {
			v.Set(reflect.ValueOf([]chosen{chosen(value)}))
		} else {
			v.SetString(value)
		}
	}
	walk(reflect.TypeFor[selection](), set)
	walk(reflect.TypeFor[operationsStart](), set)
	if members != 8 {
		t.Errorf("found %d filters, want 8", members)
	}
	for _, flag := range []string{"state", "tag", "schedule", "host", "name", "since", "until", "error-kind"} {
		for _, command := range [][]string{{"operations", "start", "cancel"}, {"jobs", "list"}} {
			if flag == "error-kind" && command[0] == "jobs" {
				continue
			}
			var out, errOut bytes.Buffer
			status := run(context.Background(), append(command, "--"+flag+"="), strings.NewReader(""), &out, &errOut)
			if status != statusUsage || !strings.Contains(errOut.String(), "empty") {
				t.Errorf("%v --%s= ends with %d: %s", command, flag, status, errOut.String())
			}
		}
	}
}

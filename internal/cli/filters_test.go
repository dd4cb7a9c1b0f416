package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// filterCommands are the commands that take the filters of a list.
var filterCommands = map[string]job.Lists{
	"jobs list": job.OfJobs, "operations start cancel": job.OfOperations, "schedules list": job.OfSchedules, "logs list": job.OfLogs,
	"logs export": job.OfLogs,
}

// Each flag that selects records reaches the request, and none can be given without a
// value: a command without its filter would select too much.
func TestFilters_ReachTheRequest(t *testing.T) {
	const value = "01920000-0000-7000-8000-000000000000"
	for command, list := range filterCommands {
		for _, f := range job.FiltersOf(list) {
			grammar := newGrammar()
			parser, _ := newParser(grammar, &bytes.Buffer{}, &bytes.Buffer{})
			if _, err := parser.Parse(append(strings.Fields(command), "--"+f.Short(), value)); err != nil {
				t.Errorf("%s --%s: %v", command, f.Short(), err)
				continue
			}
			flags := map[job.Lists]*filterFlags{
				job.OfJobs: &grammar.Jobs.List.filterFlags, job.OfOperations: &grammar.Operations.Start.filterFlags,
				job.OfSchedules: &grammar.Schedules.List.filterFlags, job.OfLogs: &grammar.Logs.List.filterFlags,
			}[list]
			if command == "logs export" {
				flags = &grammar.Logs.Export.filterFlags
			}
			given, err := flags.values(&environment{ctx: t.Context()}, &serviceFlags{})
			if err != nil || given.Get(f.Name) != value {
				t.Errorf("%s --%s selects %v: %v", command, f.Short(), given, err)
			}
			if list == job.OfOperations {
				filter := rawjson.Object(operationFilter(given))
				if got := string(rawjson.Get(filter, f.InFilter())); !strings.Contains(got, value) {
					t.Errorf("--%s is not in the filter %s", f.Short(), filter)
				}
			}
			var out, errOut bytes.Buffer
			status := run(context.Background(), append(strings.Fields(command), "--"+f.Short()+"="), strings.NewReader(""), &out, &errOut)
			if status != statusUsage || !strings.Contains(errOut.String(), "empty") {
				t.Errorf("%s --%s= ends with %d: %s", command, f.Short(), status, errOut.String())
			}
		}
	}
}

// Every command whose flags are those of filters has them.
func TestFilters_AreOnEachList(t *testing.T) {
	parser, _ := newParser(newGrammar(), &bytes.Buffer{}, &bytes.Buffer{})
	err := kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Node); ok && command.Target.IsValid() {
			if field := command.Target.FieldByName("Filters"); field.IsValid() && field.Len() == 0 {
				t.Errorf("%s has no flags for its filters", command.Path())
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

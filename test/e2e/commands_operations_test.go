package e2e

import (
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestCommandOperations_StartWatchListShowAndStop(t *testing.T) {
	t.Parallel()
	a := account(t)
	operations := func(args ...string) harness.Result {
		t.Helper()
		env := []string{"PUNCTUAL_URL=" + a.Service.URL(), "PUNCTUAL_API_KEY=" + a.Key}
		return harness.Command(t, env, append([]string{"operations"}, args...)...)
	}
	wantSaid(t, operations("list"), 0, "there are no operations")
	j := create(a.Client, with(waiting, `"tags":["import"]`))
	wantSaid(t, operations("start", "cancel"), 2, "selects every job")
	wantSaid(t, operations("start", "cancel", "--state", "scheduled", "--tag", "import", "--dry-run"), 0,
		"1 job matches; nothing was changed")
	wantSaid(t, operations("start", "reschedule", "--tag", "import", "--set", `{"scheduled_at":"2032-01-01"}`, "--spread", "1h", "--watch"),
		0, "reschedule is finished, 1 of 1 job")
	wantSaid(t, operations("start", "cancel", "--state", "scheduled", "--tag", "import", "-w"), 0, "cancel is finished, 1 of 1 job")
	awaitState(t, a.Client, j, "cancelled")
	wantSaid(t, operations("start", "cancel", "--all", "--watch"), 0, "0 of 1 job, 1 skipped (final)")
	wantSaid(t, operations("list"), 0, `{"state":"scheduled","tags":["import"]}`)
	id := a.Get("/api/operations").Want(200).Data().Get("0.id").Str()
	wantSaid(t, operations("show", id), 0, "operation "+id+": cancel is finished")
	wantSaid(t, operations("stop", id, "--json"), 0, `"state": "finished"`)
	wantSaid(t, operations("show", "x"), 3, "no such operation")
}

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestLimitShare_ManyHangingPortsDelayNoOtherAccount has one account call more
// hanging ports than there are slots. Another account's jobs still start on
// time, and deleting the first account frees its slots at once.
func TestLimitShare_ManyHangingPortsDelayNoOtherAccount(t *testing.T) {
	t.Parallel()
	const slots = 16
	s := harness.Start(t, harness.Flag("concurrency", fmt.Sprint(slots)))
	hostile, victim := s.Account(t), s.Account(t).Client
	target := harness.SharedTarget(t).Route(t)
	var hanging []*harness.Route
	for range slots + 2 {
		route := harness.NewTarget(t).Route(t).Respond(harness.Hang())
		hanging = append(hanging, route)
		create(hostile.Client, `{"timeout":900,"url":"`+route.URL+`"}`)
	}
	held := func() int {
		n := 0
		for _, route := range hanging {
			n += len(route.Hits())
		}
		return n
	}
	harness.Eventually(t, soon, "the hanging ports to be called", func() bool { return held() >= slots/2 })
	const jobs = 30
	for i := range jobs {
		create(victim, fmt.Sprintf(`{"url":"%s/%d","schedule_in":%.2f}`, target.URL, i, 0.5+float64(i)/20))
	}
	for _, hit := range target.AwaitEnds(t, jobs, soon) {
		due := hit.Header.Get("X-Punctual-Scheduled-At")
		at, err := time.Parse("2006-01-02T15:04:05.000000Z", due)
		if err != nil {
			t.Fatal(err)
		}
		if late := hit.At.Sub(at); late > harness.Allowed(2*time.Second, at) {
			t.Errorf("a job of the other account was %s late", late)
		}
	}
	if n := held(); n > slots*3/4 {
		t.Errorf("%d of %d slots are held by one account", n, slots)
	}
	s.Command(t, "accounts", "delete", hostile.Email, "--yes")
	deleted := time.Now()
	harness.Eventually(t, soon, "the slots of the deleted account to come free", func() bool {
		return metric(t, victim, `punctual_runs_in_use{kind="job"}`) == 0
	})
	if took := time.Since(deleted); took > harness.Allowed(3*time.Second, deleted) {
		t.Errorf("the slots of the deleted account came free after %s", took)
	}
}

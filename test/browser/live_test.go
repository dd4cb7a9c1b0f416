package browser

import (
	"fmt"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// fetched is a script for how often a page has fetched parts of itself.
const fetched = `performance.getEntriesByType("resource").filter((e) => e.name.includes("part=")).length`

// TestLive_QuietPagesAreNotFetchedAgain counts the requests of a page in the first two
// seconds after its event stream has opened, and then causes a change.
func TestLive_QuietPagesAreNotFetchedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Open(t, w.Service, Wide)
	for _, path := range []string{"/public", "/public/jobs", "/public/attempts", "/public/schedules", w.job(w.done)} {
		// What has just happened may be news to the stream.
		if !harness.Within(within, func() bool {
			p.Go(path).Wait(`performance.now() - Number(document.documentElement.dataset.following || NaN) > 2000`)
			return p.Is(fetched + ` === 0`)
		}) {
			t.Errorf("%s fetches itself again though nothing happens", path)
		}
	}
	p.Go("/public/jobs").Wait(`document.documentElement.dataset.following`)
	n := w.create(`{"url":"https://example.com/","name":"Fresh","schedule_in":[1,"hours"]}`)
	p.See("1 new job").Wait(fetched + ` > 0`).ClickOn("1 new job").See("Fresh").Check()
	w.client.Post("/api/jobs/cancel", fmt.Sprintf(`{"job_ids":[%d]}`, n)).Want(200)
	p.Wait(fmt.Sprintf(`document.querySelector('a[href="/public/jobs/%d"]').closest("tr").innerText.includes("Cancelled")`, n))
}

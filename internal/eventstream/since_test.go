package eventstream

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestHints_BeginWithWhatChangedSinceThePage(t *testing.T) {
	bubble(t, func(b *bench) {
		j := b.store.addJob(owner)
		b.store.addLog(j, "0")
		b.hub.Changed(j)
		open := func() *reader { return b.serve(b.hub.OpenHints(b.Context(), owner, somewhere, b.store.Now())) }
		late := func(since time.Time, want string) {
			b.Helper()
			r := b.serve(b.hub.OpenHints(b.Context(), owner, somewhere, since))
			b.want(r, want)
			r.stop()
			b.wantEnded(r, true)
		}
		time.Sleep(2 * overlap)
		r := open()
		b.want(r, ": following")
		r.stop()
		b.wantEnded(r, true)

		// A change on this node that leaves no mark, as the edit of a schedule.
		rendered := b.store.Now()
		time.Sleep(time.Second)
		b.hub.Wake(owner.Number)
		late(rendered, ": following, hint")
		time.Sleep(time.Second)
		late(b.store.Now(), ": following")

		// Changes on another node, which wake nobody here.
		rendered = b.store.Now()
		time.Sleep(time.Second)
		b.store.set(1, job.Cancelled)
		late(rendered, ": following, hint")
		time.Sleep(2 * overlap)
		rendered = b.store.Now()
		time.Sleep(time.Second)
		b.store.addLog(j, "1")
		late(rendered, ": following, hint")
		time.Sleep(2 * overlap)
		rendered = b.store.Now()
		b.store.addJob(owner)
		late(rendered, ": following, hint")
		time.Sleep(2 * overlap)
		late(b.store.Now(), ": following")

		late(time.Time{}, ": following, hint") // the page does not say when
	})
}

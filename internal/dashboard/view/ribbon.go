package view

import (
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// tracksShown is how many tracks the ribbon has at most.
	tracksShown = 5
	// trackTitle is the length of a schedule's name in a track.
	trackTitle = 28
)

// tracks returns the failing schedules as tracks of a ribbon. Schedules that began to
// fail in the same column with the same cause share one; the last one stands for all
// that have no other.
func tracks(r *ui.Ribbon, failing []job.FailingSchedule, href func(format string, args ...any) string) []ui.Track {
	type key struct {
		column int64
		cause  string
	}
	groups := map[key]int{}
	var all []ui.Track
	var counts []int
	for i := range failing {
		f := &failing[i]
		k := key{max(-1, int64(f.Since.Sub(r.Start)/r.Step)), ui.Cause(f.Cause)}
		at, known := groups[k]
		if !known {
			at = len(all)
			groups[k] = at
			all = append(all, ui.Track{Since: f.Since, Label: ui.Shorten(failingTitle(f), trackTitle), Href: href("/schedules/%s", f.ID)})
			counts = append(counts, 0)
		}
		counts[at]++
	}
	for k, at := range groups {
		if counts[at] > 1 {
			all[at].Label += " and " + ui.Count(int64(counts[at]-1)) + " more"
			all[at].Href = href("/schedules?health=failing")
		}
		all[at].Label += " · " + k.cause
	}
	if len(all) > tracksShown {
		rest := 0
		for _, n := range counts[tracksShown-1:] {
			rest += n
		}
		all = append(all[:tracksShown-1], ui.Track{Since: all[tracksShown-1].Since,
			Label: ui.Plural(rest, "more schedule", "more schedules"), Href: href("/schedules?health=failing")})
	}
	return all
}

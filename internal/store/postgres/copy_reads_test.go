package postgres

import (
	"regexp"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

// copied matches the statement of JobPage, not those of loops that run beside it.
var copied = regexp.MustCompile(`\bFROM jobs t WHERE`)

// TestJobPage_ReadsFewBlocks bounds what a copy reads for each job: final jobs cost their
// part of a scan, pending ones also the lookup of their queue item.
func TestJobPage_ReadsFewBlocks(t *testing.T) {
	d := deal(t, 60, 2500)
	const page = 500
	for _, c := range []struct {
		name  string
		below int64
		bound float64 // blocks a job
	}{
		{"Final", d.number(finalJobs, 1000), 0.2},
		{"Pending", 0, 3.2},
	} {
		d.take()
		jobs, err := d.JobPage(t.Context(), d.owner, c.below, page, job.PageBytes)
		if err != nil || len(jobs) != page {
			t.Fatalf("%s: %d jobs were read: %v", c.name, len(jobs), err)
		}
		blocks, plans := 0, ""
		for _, p := range d.take() {
			if copied.MatchString(p.Text) {
				blocks += p.Plan.HitBlocks + p.Plan.ReadBlocks
				plans += p.Plan.outline("  ")
			}
		}
		if got := float64(blocks) / page; got > c.bound || got == 0 {
			t.Errorf("%s: %.2f blocks a job, want %.2f at most:\n%s", c.name, got, c.bound, plans)
		} else {
			t.Logf("%s: %.2f blocks a job", c.name, got)
		}
	}
}

package service

import "github.com/punctual-dev/punctual/internal/store"

// effort is what a page of a search may still read, so that it takes milliseconds
// however many records there are. Its end is not the end of the list: the next page
// goes on from there.
type effort struct {
	records int // or positions of the indexes that filters are found by
	bytes   int
}

// What a page reads at most. Of jobs, the store keeps to the bytes itself; see
// store.JobScan.
var (
	ofJobs      = effort{2000, store.ScanBytes}
	ofSchedules = effort{500, 4 << 20}
	ofAttempts  = effort{1000, 8 << 20} // logs
	// ofSmallAttempts is what most pages of attempts need. A page that needs more
	// bytes is read again with ofAttempts.
	ofSmallAttempts = effort{ofAttempts.records, 256 << 10}
)

// besideAttempts is about how many bytes a large page of attempts reads besides
// those of its effort at a time: the record that exceeds it, and a few jobs.
const besideAttempts = 8 << 20

// spend takes what was read from what may still be read.
func (e *effort) spend(records, bytes int) {
	e.records -= records
	e.bytes -= bytes
}

// spent reports whether nothing more may be read.
func (e *effort) spent() bool { return e.records <= 0 || e.bytes <= 0 }

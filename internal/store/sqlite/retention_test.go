package sqlite

import (
	"strings"
	"testing"
	"time"
)

// TestLargeRecordsAreRemovedAFewAtATime: the writer does nothing else meanwhile.
func TestLargeRecordsAreRemovedAFewAtATime(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	const jobs, size, most = 20, 1 << 20, removedBytes>>20 + 1
	for range jobs {
		insert(t, s, newJob(s, owner, `{"url":"https://example.com","body":"`+strings.Repeat("b", size)+`"}`))
	}
	if err := s.AccountDelete(t.Context(), owner.Number, s.Now()); err != nil {
		t.Fatal(err)
	}
	removed := 0
	for {
		n, err := s.AccountPurge(t.Context(), s.Now().Add(-time.Hour), 200)
		if err != nil {
			t.Fatal(err)
		}
		if n > most {
			t.Errorf("%d records of 1 MiB were removed at once, want %d at most", n, most)
		}
		if n == 0 {
			break
		}
		removed += n
	}
	if removed != jobs {
		t.Errorf("%d records were removed, want %d", removed, jobs)
	}
}

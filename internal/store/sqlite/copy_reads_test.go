package sqlite

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

// TestJobPage_ReadsFewPages bounds what a copy reads for each job, and tests that both
// ways to read return each of an account's jobs once and no other account's.
func TestJobPage_ReadsFewPages(t *testing.T) {
	const n, page = 3000, 500
	s := openTest(t)
	many, few := addOwner(t, s), addOwner(t, s)
	err := s.write(t.Context(), func(x *tx) error {
		err := x.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?)
			INSERT INTO jobs (id, account, state, inserted_at, scheduled_at, due_at, completed_at, args)
			SELECT randomblob(16), CASE WHEN i % 10 = 0 THEN ? ELSE ? END, CASE WHEN i > ? THEN 1 ELSE 4 END, 0, 0, i,
				CASE WHEN i > ? THEN NULL ELSE i END, '{"url":"https://example.com/hook"}' FROM n`,
			2*n, few.Number, many.Number, n, n)
		if err != nil {
			return err
		}
		return x.exec(`INSERT INTO runs (due, kind, number, account, lane, attempt)
			SELECT due_at, 0, number, account, 1, 0 FROM jobs WHERE state = 1`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		owner          job.Owner
		jobs           int
		final, pending float64 // pages a job at most
	}{
		{"Scan", many, 2 * n * 9 / 10, 0.6, 1.3},
		{"Lookups", few, 2 * n / 10, 2.4, 3.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := 0
			for below := int64(0); ; {
				pagesRead(t, s)
				jobs, err := s.JobPage(t.Context(), c.owner, below, page, job.PageBytes)
				if err != nil {
					t.Fatal(err)
				}
				if len(jobs) == 0 {
					break
				}
				bound := c.pending
				if jobs[0].State.Final() {
					bound = c.final
				}
				if got := float64(pagesRead(t, s)) / float64(len(jobs)); got > bound || got == 0 {
					t.Errorf("%d jobs below %d: %.2f pages a job, want %.2f at most", len(jobs), below, got, bound)
				} else {
					t.Logf("%d jobs below %d: %.2f pages a job", len(jobs), below, got)
				}
				for _, j := range jobs {
					if j.Owner.Number != c.owner.Number || below > 0 && j.Number >= below {
						t.Fatalf("job %d of account %d after job %d of account %d", j.Number, j.Owner.Number, below, c.owner.Number)
					}
					below = j.Number
				}
				read += len(jobs)
			}
			if read != c.jobs {
				t.Errorf("%d jobs were read, want %d", read, c.jobs)
			}
		})
	}
}

package e2e

import (
	"fmt"
	"net/url"
	"testing"
)

// TestPeriod_MeansTheSameInEveryList: since is inclusive, until exclusive, whatever is
// listed and however the time is written.
func TestPeriod_MeansTheSameInEveryList(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, waiting)
	at := job.Get("job.inserted_at").Str()
	exact := instant(t, job.Get("job.inserted_at"))
	unix := fmt.Sprintf("%d.%06d", exact.Unix(), exact.Nanosecond()/1000)
	after := exact.Add(1000).Format("2006-01-02T15:04:05.000000Z")
	matched := func(period map[string]string) (counts []int64) {
		query, filter := url.Values{}, ``
		for name, value := range period {
			query.Set(name, value)
			filter += fmt.Sprintf(`,%q:%q`, name, value)
		}
		counts = append(counts, int64(len(a.Get("/api/jobs?"+query.Encode()).Want(200).Data().Items())))
		counts = append(counts, a.Get("/api/jobs/counts?"+query.Encode()).Want(200).Data().Get("available").Int())
		operation := a.Post("/api/operations", `{"action":"cancel","dry_run":true,"filter":{"host":"example.com"`+filter+
			`}}`).Want(200).Data()
		return append(counts, operation.Get("matched").Int())
	}
	for _, c := range []struct {
		since, until string
		want         int64
	}{
		{at, after, 1}, {at, at, 0}, {after, after, 0}, {unix, after, 1}, {at, unix, 0}, {unix, unix, 0}, {"0", after, 1},
		{"2020-01-01", "2020-01-01", 0},
	} {
		for i, n := range matched(map[string]string{"since": c.since, "until": c.until}) {
			if n != c.want {
				t.Errorf("from %s until %s: %s has %d, want %d", c.since, c.until, []string{"the list", "the count", "the operation"}[i], n,
					c.want)
			}
		}
		if n := len(a.Get("/api/logs?" + url.Values{"since": {c.since}, "until": {c.until}}.Encode()).Want(200).Data().Items()); n != 0 {
			t.Errorf("from %s until %s: %d logs", c.since, c.until, n)
		}
	}
	for _, path := range []string{"/api/jobs", "/api/jobs/counts", "/api/logs", "/api/logs/export"} {
		a.Get(path + "?since=2031-01-02&until=2031-01-01").WantProblem(422).WantParameters("until")
	}
	a.Post("/api/operations", `{"action":"cancel","filter":{"since":"2031-01-02","until":"2031-01-01"}}`).WantProblem(422).WantPointers(
		"#/filter/until")
}

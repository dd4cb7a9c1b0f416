package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestGroups_WithoutScripts saves a group, runs a schedule that names it, and cancels the
// jobs of a run. It also writes pictures if PUNCTUAL_SCREENSHOTS names a directory.
func TestGroups_WithoutScripts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	signUp(Open(t, s, Wide)).Close()
	_, key := s.NewKey(t, "ann@example.com")
	client := s.Client(t, key)
	target := harness.SharedTarget(t).Route(t)
	p := signIn(Open(t, s, Wide), "ann@example.com").At("/")
	shoot := func(p *Page, name string) {
		if dir := os.Getenv("PUNCTUAL_SCREENSHOTS"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".webp"), p.Shot(80), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.Go("/settings").ClickOn("Groups").At("/groups").See("No groups yet").Check().Script(false)
	p.Fill("#f-name", "mirrors").Fill("#f-targets", "eu "+target.URL+"\nus "+target.URL).ClickOn("Save group")
	p.See("The group has been created", "2 targets")
	p.Expect(422).Fill("#f-name", "other").Fill("#f-targets", "eu").ClickOn("Save group").See("Correct the marked fields", "at url")
	client.Do("PUT", "/api/limits/gate", `{"parallel":1,"paused":true}`).Want(201)
	run := client.Post("/api/jobs", `{"group":"mirrors","method":"post","cron":"0 0 1 1 *","name":"Invalidate","limits":["gate"]}`).Want(201)
	number := run.Data().Get("job_id").Raw()
	client.Post("/api/schedules/"+run.Data().Get("schedule_id").Str()+"/run", nil).Want(200)
	harness.Eventually(t, soon, "the jobs of the run", func() bool {
		return len(client.Get("/api/jobs?parent="+number).Want(200).Data().Items()) == 2
	})
	p.Go("/groups/mirrors").See("2 available", "Schedules that name it", "Invalidate").Script(true).Check().Script(false)
	p.Click("#run-"+number+" summary").ClickOn("Cancel jobs").See("2 jobs have been cancelled", "2 cancelled")
	p.ClickOn("2 cancelled").At("/jobs?parent=" + number).See("Invalidate")
	p.Go("/jobs/"+number).See("Group", "Became").ClickOn("mirrors").At("/groups/mirrors").Script(true).Check().Close()
	for _, look := range []Look{WideDark, Phone} {
		p := signIn(Open(t, s, look), "ann@example.com").At("/")
		p.Go("/groups?name=mirrors").See("Save a group", "2 targets").Check()
		shoot(p, "groups-"+look.Name)
		p.Go("/groups/mirrors").See("Runs", "2 cancelled", "Targets").Check()
		shoot(p, "group-"+look.Name)
		p.Close()
	}
}

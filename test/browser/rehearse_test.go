package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestRehearse_CalendarAndEditPreview also writes pictures if PUNCTUAL_SCREENSHOTS names
// a directory.
func TestRehearse_CalendarAndEditPreview(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	signUp(Open(t, s, Wide)).Close()
	_, key := s.NewKey(t, "ann@example.com")
	client := s.Client(t, key)
	client.Post("/api/apply", `{"owner":"repo","schedules":[
		{"key":"nightly-report","url":"https://example.com/report","cron":"30 2 * * *","timezone":"Europe/Berlin"},
		{"key":"sync","url":"https://example.com/sync","cron":"*/2 * * * *"},
		{"key":"payroll","url":"https://example.com/pay","cron":"0 9 L * *"},
		{"key":"either","url":"https://example.com/x","cron":"0 0 13 * FRI"},
		{"key":"trial","url":"https://example.com/trial","cron":"@daily","max_runs":500}]}`).Want(200)
	client.Post("/api/jobs", `{"url":"https://example.com/unkeyed","name":"Without a key","repeat_every":[1,"day"],"schedule_in":[1,"day"]}`).Want(201)
	sync := client.Get("/api/schedules/key:sync").Want(200).Data().Get("id").Str()
	shoot := func(p *Page, name string) {
		if dir := os.Getenv("PUNCTUAL_SCREENSHOTS"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".webp"), p.Shot(80), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, look := range []Look{Wide, WideDark, Phone} {
		p := signIn(Open(t, s, look), "ann@example.com").At("/")
		p.Go("/schedules").ClickOn("Rehearse").At("/rehearse").See("Rehearse", "Month after").Check()
		p.Go("/rehearse?month=2027-03&down=2027-03-02T00:00:00Z&for=600").See("March 2027", "nightly-report", "Without a key", "Busiest minutes",
			"Findings").Check()
		shoot(p, "rehearse-"+look.Name)
		p.Expect(422).Go("/rehearse?month=soon").See("Month must be written as in 2027-03").Check()
		p.Go("/schedules/"+sync+"/edit").Fill("#f-when", "every weekday at 9:00").ClickOn("Review changes").
			See("What this changes", "720 a day", "5 a week", "Next run").Check()
		shoot(p, "rehearse-edit-"+look.Name)
		p.Close()
	}
}

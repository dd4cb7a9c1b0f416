package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const withCredential = `{"url":"https://example.com","method":"post","headers":{"Authorization":"Bearer hunter2","x-team":"billing"},"repeat_every":3600}`

// hidden verifies that a page does not contain the credential.
func (b *browser) hidden(path string) {
	b.Helper()
	page := b.want(b.get(path), 200, "")
	if strings.Contains(page.body, "hunter2") {
		b.Errorf("%s shows the credential", path)
	}
}

// sends stores a log of a request with a credential, and returns its path.
func (w *site) sends(j *job.Job) string {
	w.Helper()
	l := job.Log{
		ID: job.NewID(w.clock()), Owner: j.Owner, Job: j.Number, Event: job.EventRequest, InsertedAt: w.clock(),
		Payload: rawjson.Value(`{"url":"https://example.com","headers":{"authorization":"Bearer hunter2"},"query":{},"body":null}`),
	}
	_, err := w.s.JobChange(w.Context(), j.Owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.Begin(w.clock())
		return &store.Changes{Job: &after, Logs: []job.Log{l}}
	})
	if err != nil {
		w.Fatal(err)
	}
	return "/logs/" + l.ID.String()
}

func TestCredentials_AreShownAfterAClick(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	j := w.create(w.owner("ann@example.com"), withCredential)
	schedule := "/schedules/" + j.ScheduleID.String()
	b.hidden("/jobs/1")
	log := w.sends(j)
	w.pass(time.Minute) // exports end a few seconds ago
	for _, path := range []string{"/jobs/1", schedule, log} {
		b.hidden(path)
		b.want(b.get(path), 200, `href="`+path+`?reveal=true"`)
		b.want(b.get(path+"?reveal=true"), 200, "hunter2")
	}
	b.want(b.get("/jobs/1?reveal=true"), 200, "/jobs/1?reveal=true&amp;part=job")
	for _, path := range []string{"/jobs/1" + log, "/logs/export"} {
		b.hidden(path)
		b.want(b.get(path+"?reveal=true"), 200, "hunter2")
	}
}

func TestCredentials_AreNeverOnPublicPages(t *testing.T) {
	w := newSite(t, false, public)
	b := w.browser()
	account, err := auth.PublicAccount(t.Context(), w.s, w.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	j := w.create(account.Owner, withCredential)
	log := w.sends(j)
	w.pass(time.Minute)
	for _, path := range []string{"/jobs/1", "/jobs/1?part=job", "/schedules/" + j.ScheduleID.String(), log, "/jobs/1" + log,
		"/logs/export", "/jobs/new?from=1"} {
		b.hidden("/public" + path)
		b.hidden("/public" + strings.Replace(path, "?", "?reveal=true&", 1))
		if !strings.Contains(path, "?") {
			b.hidden("/public" + path + "?reveal=true")
		}
	}
	b.post("/public/jobs", "url", "https://example.com", "headers", "authorization: ***", "from", "1", "metadata", "true")
	if made, err := w.s.JobGet(t.Context(), account.Owner, job.Ref{Number: 2}); err != nil ||
		strings.Contains(string(made.Args), "hunter2") {
		t.Errorf("a copy has the credential: %v, %v", made, err)
	}
}

func TestCredentials_AreCopiedWithTheJob(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	w.create(ann, withCredential)
	b.hidden("/jobs/new?from=1")
	b.want(b.get("/jobs/new?from=1"), 200, "Authorization: ***\nx-team: billing")
	for i, form := range [][]string{
		{"url", "https://example.com", "headers", "authorization: ***\nx-team: ***", "metadata", "true", "from", "1"},
		{"as", "json", "json", `{"url":"https://example.com","headers":{"Authorization":"***","x-team":"***"}}`, "from", "1"},
	} {
		b.want(b.post("/jobs", form...), 303, "/jobs/"+string(rune('2'+i))+"?done=created")
		made, err := w.s.JobGet(t.Context(), ann, job.Ref{Number: int64(2 + i)})
		if err != nil {
			t.Fatal(err)
		}
		if args := string(made.Args); !strings.Contains(args, "Bearer hunter2") || !strings.Contains(args, `"x-team":"***"`) {
			t.Errorf("the copy is %s", args)
		}
	}
}

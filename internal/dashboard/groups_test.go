package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
)

const twoTargets = "eu https://eu.example.com/hook\n\n  us   https://us.example.com/hook\n"

func TestGroups_SaveEditAndDelete(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.get("/groups"), 200, "No groups yet")
	b.want(b.post("/groups", "name", "mirrors", "targets", twoTargets), 303, "/groups?done=groupcreated")
	b.want(b.get("/groups"), 200, "2 targets")
	b.wantAll(b.get("/groups/mirrors"), "https://eu.example.com/hook", "No runs are stored")

	ann := w.owner("ann@example.com")
	body := `{"targets":[{"name":"eu","url":"https://eu.example.com/a","headers":{"X-Key":"hunter2"}}]}`
	if _, _, err := w.service.SetGroup(w.Context(), ann, "mirrors", []byte(body), service.Match{}); err != nil {
		t.Fatal(err)
	}
	form := b.get("/groups?name=mirrors")
	b.wantAll(form, "eu https://eu.example.com/a", `name="revision"`)
	if strings.Contains(form.body+b.get("/groups/mirrors").body, "hunter2") {
		t.Error("a page shows the value of a header")
	}
	b.want(b.post("/groups", "name", "mirrors", "targets", "eu https://eu.example.com/b", "revision", "1"), 409, "has been changed since")
	b.want(b.post("/groups", "name", "mirrors", "targets", "eu https://eu.example.com/b"), 303, "/groups/mirrors?done=groupchanged")
	g, err := w.service.Group(w.Context(), ann, "mirrors")
	if err != nil || string(g.Targets) != `[{"name":"eu","url":"https://eu.example.com/b","headers":{"X-Key":"hunter2"}}]` {
		t.Errorf("the targets are %s (%v)", g.Targets, err)
	}
	for _, c := range [][3]string{
		{"bad name", twoTargets, "must be 1 to 64"},
		{"x", "", "Targets must be a list of 1 to 100 targets"},
		{"x", "eu", "entry 1 at url"},
		{"x", "eu https://a.example.com\neu https://b.example.com", "entry 2 at name"},
	} {
		b.want(b.post("/groups", "name", c[0], "targets", c[1]), 422, c[2])
	}
	w.create(ann, `{"group":"mirrors","method":"post","repeat_every":[1,"hour"],"name":"Invalidate"}`)
	b.want(b.get("/groups"), 200, `data-label="Schedules">1<`)
	b.want(b.post("/groups/mirrors/delete"), 409, "names this group")
	b.want(b.post("/groups", "name", "other", "targets", twoTargets), 303, "/groups?done=groupcreated")
	b.want(b.post("/groups/other/delete"), 303, "/groups?done=groupdeleted")
	b.want(b.get("/groups/other"), 404, "no such group")
}

func TestGroups_RunsAndTheirJobs(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann, sam := w.owner("ann@example.com"), w.stranger()
	b.want(b.post("/groups", "name", "mirrors", "targets", twoTargets), 303, "/groups?done=groupcreated")
	if _, _, err := w.service.SetGroup(w.Context(), sam, "mirrors", []byte(`{"targets":[{"name":"s","url":"https://sam.example.com"}]}`),
		service.Match{}); err != nil {
		t.Fatal(err)
	}
	const schedule = `{"group":"mirrors","method":"post","repeat_every":[1,"hour"],"name":%q}`
	run, foreign := w.create(ann, fmt.Sprintf(schedule, "Invalidate")), w.create(sam, fmt.Sprintf(schedule, "Of Sam"))
	b.want(b.get(fmt.Sprintf("/jobs/%d", run.Number)), 200, `href="/groups/mirrors"`)
	b.want(b.get("/schedules/"+run.ScheduleID.String()), 200, `href="/groups/mirrors"`)
	w.becomes(run, 2)
	page := b.want(b.get("/groups/mirrors"), 200, "Invalidate")
	b.wantAll(page, "2 available", fmt.Sprintf(`href="/jobs?parent=%d"`, run.Number), "Cancel jobs")
	if strings.Contains(page.body, "Of Sam") || strings.Contains(page.body, "sam.example.com") {
		t.Error("the page shows another account's records")
	}
	b.want(b.get(fmt.Sprintf("/jobs?parent=%d", run.Number)), 200, "Jobs")
	b.want(b.get("/groups/mirrors?part=group"), 200, `id="group"`)

	cancel := func(number int64) string { return fmt.Sprintf("/groups/mirrors/runs/%d/cancel", number) }
	b.want(b.post(cancel(foreign.Number)), 404, "no such job")
	plain := w.create(ann, `{"url":"https://example.com"}`)
	b.want(b.post(cancel(plain.Number)), 404, "no such job")
	b.want(b.post(cancel(run.Number)), 303, "/groups/mirrors?done=selected&count=2")
	page = b.want(b.get("/groups/mirrors?done=selected&count=2"), 200, "2 jobs have been cancelled")
	b.want(page, 200, "2 cancelled")
	if strings.Contains(page.body, "Cancel jobs") {
		t.Error("jobs that have ended can be cancelled")
	}
}

// becomes completes a run with a group, which becomes n jobs.
func (w *site) becomes(run *job.Job, n int) {
	w.Helper()
	at := w.clock()
	_, err := w.s.JobChange(w.Context(), run.Owner, job.Ref{Number: run.Number}, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.Begin(at)
		after.Complete(at)
		changes := &store.Changes{Job: &after}
		for i := range n {
			child := &job.Job{ID: job.GroupID(job.NewID(at), i), Owner: run.Owner, State: job.Available, Parent: run.Number,
				ScheduledAt: at.Add(time.Hour), DueAt: at.Add(time.Hour), InsertedAt: at}
			child.Args = []byte(fmt.Sprintf(`{"url":"https://t%d.example.com","method":"post"}`, i))
			changes.Also = append(changes.Also, store.NewJob{Job: child})
		}
		return changes
	})
	if err != nil {
		w.Fatal(err)
	}
}

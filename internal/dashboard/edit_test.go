package dashboard

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/job"
)

var (
	inputTag    = regexp.MustCompile(`<(?:input|textarea|select)[^>]*>`)
	textareaTag = regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]+)"[^>]*>\n?(.*?)</textarea>`)
	optionTag   = regexp.MustCompile(`(?s)<select[^>]* name="([^"]+)".*?</select>`)
	selectedTag = regexp.MustCompile(`value="([^"]*)" selected`)
	attribute   = regexp.MustCompile(`([a-z]+)(?:="([^"]*)")?`)
)

// inputs returns the texts of the inputs of a page's form with an action.
func (r *result) inputs(action string) url.Values {
	_, body, _ := strings.Cut(r.body, `action="`+action+`"`)
	body, _, _ = strings.Cut(body, "</form>")
	values := url.Values{}
	for _, tag := range inputTag.FindAllString(body, -1) {
		if !strings.HasPrefix(tag, "<input") {
			continue
		}
		has := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(strings.TrimSuffix(tag, ">"), -1) {
			has[a[1]] = html.UnescapeString(a[2])
		}
		_, checked := has["checked"]
		if has["name"] != "" && (checked || has["type"] != "checkbox" && has["type"] != "radio") {
			values.Add(has["name"], has["value"])
		}
	}
	for _, t := range textareaTag.FindAllStringSubmatch(body, -1) {
		values.Set(t[1], html.UnescapeString(t[2]))
	}
	for _, t := range optionTag.FindAllStringSubmatch(body, -1) {
		if chosen := selectedTag.FindStringSubmatch(t[0]); chosen != nil {
			values.Set(t[1], html.UnescapeString(chosen[1]))
		}
	}
	return values
}

// edits opens a form, changes inputs and returns the page with the difference.
func (b *browser) edits(path string, fields ...string) *result {
	b.Helper()
	form := b.want(b.get(path), 200, "Review changes").inputs(path)
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	form.Set("go", "check")
	return b.do("POST", path, form)
}

// saves saves the difference on a page.
func (b *browser) saves(page *result, path string) *result {
	b.Helper()
	form := page.inputs(path)
	form.Set("go", "save")
	return b.do("POST", path, form)
}

const everything = `{"method":"put","url":"https://example.com/hook","headers":{"authorization":"Bearer hunter2","x-team":"a"},"query":{"a":1},
	"body":{"hello":"world","list":[1,2,3]},"name":"Before","description":"line 1\nline 2","tags":["eu","billing"],"retries":2,"timeout":20,"metadata":false,
	"callback_url":"https://example.com/callback","webhook_url":"https://example.com/events","success":["2xx",404],"no_retry":["4xx"],"backoff":[10,[1,"minute"]]`

func TestEdit_AFormThatIsNotTouchedChangesNothing(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	for _, rest := range []string{
		`,"cron":"0 9 * * 1-5","timezone":"Europe/Berlin"}`, `,"repeat_every":[90,"minutes"]}`, `,"repeat_every":1.5}`,
		`,"schedule_in":3600}`,
	} {
		j := w.create(ann, everything+rest)
		path := "/jobs/1/edit"
		if path = "/schedules/" + j.ScheduleID.String() + "/edit"; j.ScheduleID == uuid.Nil {
			path = "/jobs/4/edit"
		}
		b.want(b.edits(path), 200, "No changes.")
	}
}

func TestEdit_ScheduleWithADifferenceBeforeSaving(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	id := w.create(ann, everything+`,"cron":"0 9 * * 1-5","timezone":"Europe/Berlin"}`).ScheduleID
	at := "/schedules/" + id.String()
	b.hidden(at + "/edit")

	page := b.want(b.edits(at+"/edit", "url", "https://example.com/other", "tags", "", "timeout", "30", "headers",
		"authorization: ***\nx-team: b", "when", "every 90 minutes"), 200, "Your changes")
	for _, says := range []string{"https://example.com/hook", "https://example.com/other", "Tags", "Timeout", "0 9 * * 1-5"} {
		b.want(page, 200, says)
	}
	if strings.Contains(page.body, "hunter2") || w.schedule(ann, id).Revision != 1 {
		t.Error("the difference shows the credential, or was saved")
	}
	b.want(b.saves(page, at+"/edit"), 303, at+"?done=edited")
	s := w.schedule(ann, id)
	if args := string(s.Args); s.Revision != 2 || !strings.Contains(args, `"authorization":"Bearer hunter2"`) ||
		!strings.Contains(args, `"x-team":"b"`) ||
		!strings.Contains(args, `"repeat_every":[90,"minutes"]`) || strings.Contains(args, "cron") || strings.Contains(args, "tags") ||
		!strings.Contains(args, `"metadata":false`) {
		t.Errorf("revision %d is %s", s.Revision, args)
	}
	history := b.want(b.get(at+"/history"), 200, "Revision 2")
	b.want(history, 200, "dashboard, ann@example.com")
	b.hidden(at + "/history")
	b.want(b.get(at), 200, at+"/history")

	for when, why := range map[string]string{"whenever": "When is not understood", "in 5 minutes": "When must recur", "": "When must recur",
		"every 0 seconds": "When "} {
		b.want(b.edits(at+"/edit", "when", when), 422, why)
	}
	refused := b.want(b.edits(at+"/edit", "name", strings.Repeat("x", 256), "retries", "99", "body", "{"), 422, "Body is not valid JSON")
	b.want(b.edits(at+"/edit", "name", strings.Repeat("x", 256), "retries", "99"), 422, "Retries must")
	if refused.inputs(at+"/edit").Get("body") != "{" {
		t.Error("what was entered is gone")
	}
}

func TestEdit_ShowsWhatHasChangedMeanwhile(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	id := w.create(ann, everything+`,"repeat_every":3600}`).ScheduleID
	at := "/schedules/" + id.String()
	mine := b.edits(at+"/edit", "name", "Mine")
	b.want(b.saves(b.edits(at+"/edit", "timeout", "33", "ends_at", "2030-01-01T00:00:00Z"), at+"/edit"), 303, at+"?done=edited")

	stale := b.want(b.saves(mine, at+"/edit"), 412, "Changed by others")
	b.want(stale, 412, "It has been changed since")
	b.want(stale, 412, "33")
	if s := w.schedule(ann, id); *s.Name != "Before" {
		t.Errorf("it was saved as %s", *s.Name)
	}
	b.want(b.saves(stale, at+"/edit"), 303, at+"?done=edited")
	if s := w.schedule(ann, id); *s.Name != "Mine" || s.Revision != 3 || !strings.Contains(string(s.Args), `"timeout":33`) ||
		!strings.Contains(string(s.Args), "ends_at") {
		t.Errorf("it is %s in revision %d: %s", *s.Name, s.Revision, s.Args)
	}
	back := mine.inputs(at + "/edit")
	back.Set("go", "form")
	b.want(b.do("POST", at+"/edit", back), 200, `value="Mine"`)
}

func TestEdit_AWaitingJobAndARun(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	w.create(ann, everything+`,"schedule_in":3600}`)
	page := b.want(b.edits("/jobs/1/edit", "url", "https://example.com/other", "when", "in 2 hours"), 200, "https://example.com/other")
	b.want(b.saves(page, "/jobs/1/edit"), 303, "/jobs/1?done=jobedited")
	j, err := w.s.JobGet(t.Context(), ann, job.Ref{Number: 1})
	if err != nil || j.Revision != 2 || !strings.Contains(string(j.Args), `"schedule_in":[2,"hours"]`) {
		t.Errorf("the job is %v, %v", j, err)
	}
	b.want(b.get("/jobs/1/history"), 200, "Revision 2")
	b.want(b.edits("/jobs/1/edit", "when", "every day at 9"), 422, "is a recurrence")

	w.create(ann, everything+`,"repeat_every":3600,"scheduled_at":"2026-03-02T12:00:00Z"}`)
	run := b.want(b.get("/jobs/2/edit"), 200, "one run only")
	if strings.Contains(run.body, `name="url"`) || !strings.Contains(run.body, `name="description"`) {
		t.Error("the form of a run has other fields than those that can be changed")
	}
	b.want(b.saves(b.edits("/jobs/2/edit", "name", "This run"), "/jobs/2/edit"), 303, "/jobs/2?done=jobedited")

	w.ends(j, 200)
	b.want(b.edits("/jobs/1/edit", "name", "Late"), 422, "so it can&#39;t be changed any more")
	page = b.want(b.edits("/jobs/1/rerun/edit", "url", "https://example.com/again"), 200, "https://example.com/again")
	b.want(b.saves(page, "/jobs/1/rerun/edit"), 303, "/jobs/3?done=changed")
	if again, err := w.s.JobGet(t.Context(), ann, job.Ref{Number: 3}); err != nil || again.RerunOf != 1 ||
		!strings.Contains(string(again.Args), "hunter2") {
		t.Errorf("the copy is %v, %v", again, err)
	}
	b.want(b.get("/jobs/3"), 200, `href="/jobs/1"`)
	b.want(b.edits("/jobs/1/rerun/edit", "timeout", "9999"), 422, "Timeout must")
}

func TestSchedules_RunNow(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	j := w.create(ann, `{"url":"https://example.com","repeat_every":3600,"scheduled_at":"2026-03-02T12:00:00Z"}`)
	at := "/schedules/" + j.ScheduleID.String()
	b.want(b.post(at+"/run"), 303, at+"?done=sooner")
	run, err := w.s.JobGet(t.Context(), ann, job.Ref{Number: j.Number})
	if err != nil || run.DueAt.After(w.clock()) {
		t.Errorf("the run is %v, %v", run, err)
	}
}

func TestEdit_PublicPagesHideCredentials(t *testing.T) {
	w := newSite(t, false, public)
	b := w.browser()
	account, err := auth.PublicAccount(t.Context(), w.s, w.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	at := "/public/schedules/" + w.create(account.Owner, withCredential).ScheduleID.String()
	b.hidden(at + "/edit")
	page := b.want(b.edits(at+"/edit", "headers", "Authorization: ***, again\nx-team: billing"), 200, "A credential differs")
	b.want(b.saves(page, at+"/edit"), 303, at+"?done=edited")
	b.hidden(at + "/history")
	b.hidden("/public/jobs/1/rerun/edit")
}

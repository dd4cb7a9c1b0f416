package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// ifMatch sets the header If-Match of a call.
func ifMatch(tags string) harness.RequestOption {
	return harness.Header("If-Match", tags)
}

func wantETag(t *testing.T, what string, answer *harness.Answer, revision int) {
	t.Helper()
	if got, want := answer.Header.Get("ETag"), fmt.Sprintf(`"%d"`, revision); got != want {
		t.Errorf("%s has the ETag %s, want %s", what, got, want)
	}
}

func TestEdit_RevisionsAndIfMatch(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, `{"url":"https://example.com/hook","scheduled_at":"`+far+`","name":"a"}`)
	path := jobPath(job)
	wantETag(t, "a new job", a.Get(path).Want(200), 1)
	wantETag(t, "an edit", a.Do("PATCH", path, `{"name":"b"}`).Want(200), 2)
	for _, same := range []string{`{}`, `{"name":"b"}`, `{"description":null,"method":"GET"}`} {
		wantETag(t, same, a.Do("PATCH", path, same).Want(200), 2)
	}
	for _, stale := range []string{`"1"`, `"3", "x"`, `W/"2"`, `2`, `""`} {
		a.Do("PATCH", path, `{"name":"stale"}`, ifMatch(stale)).WantProblem(412)
	}
	a.Do("PATCH", path, `{"nme":1}`, ifMatch(`"1"`)).WantProblem(412)
	wantETag(t, "any", a.Do("PATCH", path, `{"name":"c"}`, ifMatch(`*`)).Want(200), 3)
	wantETag(t, "one of several", a.Do("PATCH", path, `{"name":null}`, ifMatch(`"1", "3"`)).Want(200), 4)
	history := a.Get(path + "/revisions").Want(200).Data()
	var got []string
	for _, r := range history.Items() {
		got = append(got, fmt.Sprint(r.Get("revision").Int(), r.Get("by.kind").Str(), r.Get("changes").Raw()))
	}
	want := `4key[{"path":"/name","from":"c","to":null}] 3key[{"path":"/name","from":"b","to":"c"}] 2key[{"path":"/name","from":"a","to":"b"}]`
	if strings.Join(got, " ") != want {
		t.Errorf("the history is %s", got)
	}
	account(t).Get(path + "/revisions").WantProblem(404)
}

func TestEdit_NullIsAbsentWhereThereIsNothingToRemove(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, `{"url":"https://example.com/hook","scheduled_at":"`+far+`"}`)
	nulls := `{"on_conflict":null,"max_wait":null,"throttle":null,"idempotency_key":null,"repeat_every":null,"cron":null,"timezone":null,"max_runs":null}`
	wantETag(t, "nulls", a.Do("PATCH", jobPath(job), nulls).Want(200), 1)
	a.Post(jobPath(job)+"/rerun", nulls).Want(201)
	_, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60`)
	wantETag(t, "nulls", a.Do("PATCH", path, `{"on_conflict":null,"max_wait":null,"throttle":null,"idempotency_key":null,"cron":null}`).Want(200), 1)
	a.Do("PUT", "/api/schedules/key:k", `{"url":"https://example.com/hook","repeat_every":60,"idempotency_key":null,"throttle":null,"cron":null}`).Want(201)
	a.Do("PUT", "/api/schedules/key:k", `{"url":"https://example.com/hook","repeat_every":60,"throtle":null}`).WantPointers("#/throtle")

	held := create(a.Client, `{"url":"https://example.com/hook","scheduled_at":"`+far+`","idempotency_key":"h","on_conflict":"refuse"}`)
	a.Do("PATCH", jobPath(held), `{"idempotency_key":null,"on_conflict":null,"throttle":null}`).WantPointers("#/idempotency_key",
		"#/on_conflict")
}

func TestEdit_LargeValuesAreShortInTheHistory(t *testing.T) {
	t.Parallel()
	a := account(t)
	_, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60`)
	body := strings.Repeat("é", 100_000)
	a.Do("PATCH", path, `{"body":"`+body+`"}`).Want(200)
	a.Do("PATCH", path, `{"body":null}`).Want(200)
	answer := a.Get(path + "/revisions").Want(200)
	if n := len(answer.Data().Raw()); n > 2000 {
		t.Errorf("the history has %d bytes", n)
	}
	if to := answer.Data().Get("1.changes.0.to").Str(); !strings.HasSuffix(to, "… (200002 bytes)") {
		t.Errorf("the value is shown as %q", to)
	}
}

func TestKeyInPath_NamesJobsAndSchedules(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, key := range []string{"plain", "a/b//c", "../x", "ä?&#%", "key:key", " x "} {
		escaped := "key:" + url.PathEscape(key)
		job := create(a.Client, `{"url":"https://example.com/hook","scheduled_at":"`+far+`","idempotency_key":"`+key+`"}`)
		wantSame(t, key, a.Get("/api/jobs/"+escaped).Want(200).Data(), job.Raw())
		a.Do("PATCH", "/api/jobs/"+escaped, `{"retries":1}`).Want(200)
		wantSame(t, key, a.Get("/api/jobs/"+escaped+"/details").Want(200).Data().Get("revision"), "2")
		a.Post("/api/jobs/"+escaped+"/cancel", nil).Want(200)
		a.Get("/api/jobs/" + escaped).WantProblem(404)
		path := "/api/schedules/" + escaped
		schedule := a.Do("PUT", path, `{"url":"https://example.com/hook","scheduled_at":"`+far+`","repeat_every":60}`).Want(201).Data()
		wantSame(t, key, a.Get(path).Want(200).Data(), schedule.Raw())
		wantSame(t, key+", by the run", a.Get("/api/jobs/"+escaped).Want(200).Data().Get("schedule_id"), schedule.Get("id").Raw())
		a.Post(path+"/disable", nil).Want(200)
		a.Post(path+"/enable", nil).Want(200)
		a.Do("PUT", path+"/state", `{"a":1}`).Want(200)
		wantSame(t, key, a.Get(path+"/state").Want(200).Data().Get("state"), `{"a":1}`)
		account(t).Get(path).WantProblem(404)
		a.Do("DELETE", path, nil).Want(204)
		a.Get(path).WantProblem(404)
	}
	a.Get("/api/jobs/key:").WantProblem(404)
	a.Do("PUT", "/api/schedules/key:", `{"url":"https://example.com/hook","repeat_every":60}`).WantProblem(422)
	a.Do("PUT", "/api/schedules/key:"+strings.Repeat("x", 256), `{"url":"https://example.com/hook","repeat_every":60}`).WantProblem(422)
}

func TestPut_ManyAtOnceCreateOne(t *testing.T) {
	t.Parallel()
	a := account(t)
	const callers = 30
	path := "/api/schedules/key:at-once"
	statuses := make([]int, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			answer, err := a.Try("PUT", path, fmt.Sprintf(
				`{"url":"https://example.com/hook","scheduled_at":"%s","repeat_every":60,"name":"n%d"}`, far, i))
			if err != nil {
				t.Error(err)
				return
			}
			statuses[i] = answer.Status
		})
	}
	group.Wait()
	created := 0
	for _, status := range statuses {
		switch status {
		case 201:
			created++
		case 200:
		default:
			t.Errorf("a call responded with %d", status)
		}
	}
	details := a.Get(path + "/details").Want(200).Data()
	id := details.Get("schedule.id").Str()
	if left := unfinished(a.Client, id); created != 1 || len(left) != 1 || left[0].Get("name").Raw() != details.Get("schedule.name").Raw() {
		t.Errorf("%d calls created, the schedule is %s with the runs %s", created, details.Raw(), left)
	}
	if n := len(a.Get("/api/schedules").Want(200).Data().Items()); n != 1 {
		t.Errorf("there are %d schedules", n)
	}
	// Each of the others has changed the name.
	wantSame(t, "revision", details.Get("revision"), fmt.Sprint(callers))
	if n := len(a.Get(path + "/revisions").Want(200).Data().Items()); n != callers-1 {
		t.Errorf("the history has %d edits", n)
	}
}

func TestPut_HopsEndAtNewSchedules(t *testing.T) {
	t.Parallel()
	a := account(t)
	hops := func(n string) harness.RequestOption {
		return harness.Header("X-Punctual-Hops", n)
	}
	body := `{"url":"https://example.com/hook","scheduled_at":"` + far + `","repeat_every":60}`
	a.Do("PUT", "/api/schedules/key:k", body, hops("3")).WantProblem(422)
	a.Do("PUT", "/api/schedules/key:k", body, hops("2")).Want(201)
	a.Do("PUT", "/api/schedules/key:k", body, hops("3")).Want(200)
	job := create(a.Client, waiting)
	a.Do("POST", jobPath(job)+"/rerun", nil, hops("3")).WantProblem(422)
}

// Each kill hits a series of edits: what was acknowledged is there, each revision
// has its entry in the history, and the pending run is of the schedule as it is.
func TestEdit_SurvivesKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("restarts the service")
	}
	service := harness.Start(t)
	a := service.Account(t)
	path := "/api/schedules/key:k"
	a.Do("PUT", path, `{"url":"https://example.com/hook","scheduled_at":"`+far+`","repeat_every":60,"name":"0"}`).Want(201)
	acked := 0
	for range 4 {
		begun := acked
		var group sync.WaitGroup
		group.Go(func() {
			for n := acked + 1; ; n++ {
				answer, err := a.Try("PATCH", path, fmt.Sprintf(`{"name":"%d"}`, n))
				if err != nil || answer.Status != 200 {
					return
				}
				acked = n
			}
		})
		harness.Eventually(t, soon, "some edits", func() bool {
			var name int
			_, _ = fmt.Sscan(a.Get(path).Want(200).Data().Get("name").Str(), &name)
			return name > begun+5
		})
		service.Kill()
		group.Wait()
		service.Restart(t)
		details := a.Get(path + "/details").Want(200).Data()
		var name int
		_, _ = fmt.Sscan(details.Get("schedule.name").Str(), &name)
		if name != acked && name != acked+1 {
			t.Errorf("the name is %d, acknowledged were %d edits", name, acked)
		}
		left := unfinished(a.Client, details.Get("schedule.id").Str())
		if len(left) != 1 || left[0].Get("name").Raw() != details.Get("schedule.name").Raw() {
			t.Errorf("the schedule is %s, its runs are %s", details.Get("schedule").Raw(), left)
		}
		history := a.Get(path + "/revisions").Want(200).Data().Items()
		for i, r := range history {
			if r.Get("revision").Int() != details.Get("revision").Int()-int64(i) {
				t.Errorf("the history has a gap at %d: %s", i, r.Raw())
			}
		}
		acked = name
	}
}

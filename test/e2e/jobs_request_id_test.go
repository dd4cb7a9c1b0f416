package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestRequestID_IsAnsweredOnce(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	for _, id := range []string{uuid.NewString(), strings.Repeat("ä", 255)} {
		body := fmt.Sprintf(`{"url":%q,"request_id":%q,"idempotency_key":"k"}`, target.URL, id)
		first := a.Post("/api/jobs", body).Want(201).Data()
		if strings.Contains(first.Raw(), "request_id") {
			t.Errorf("the record has the request_id: %s", first.Raw())
		}
		first = awaitState(t, a.Client, first, "completed") // its key is free
		wantDuplicate(t, a.Post("/api/jobs", body), first)
		reordered := fmt.Sprintf(`{"idempotency_key":"k","name":null,"request_id":%q,"url":%q}`, id, target.URL)
		wantDuplicate(t, a.Post("/api/jobs", reordered), first)

		batch := a.Post("/api/jobs/batch?atomic=false", `[`+body+`,{"url":`+fmt.Sprintf("%q", target.URL)+`},`+body+`]`).Want(200).Data()
		for i, want := range []string{"200", "201", "200"} {
			item := batch.Get(strconv.Itoa(i))
			if item.Get("status").Raw() != want || want == "200" && item.Get("job").Get("id").Raw() != first.Get("id").Raw() {
				t.Errorf("item %d: %s", i, item.Raw())
			}
		}
		a.Post("/api/jobs", strings.Replace(body, `"k"`, `"other"`, 1)).WantProblem(422)
		second := account(t)
		second.Post("/api/jobs", body).Want(201)
	}
	for _, wrong := range []string{`""`, `7`, `"` + strings.Repeat("x", 256) + `"`, `"\u0000"`} {
		a.Post("/api/jobs", `{"url":"`+target.URL+`","request_id":`+wrong+`}`).WantProblem(422)
	}
}

// TestRequestID_RefusalsAreForgotten: a call that was refused may be corrected and sent
// again, and one that was answered is answered again though it would be refused now.
func TestRequestID_RefusalsAreForgotten(t *testing.T) {
	t.Parallel()
	a := account(t)
	holder := create(a.Client, `{"url":"https://example.com","schedule_in":3600,"idempotency_key":"held"}`)
	refused := `{"url":"https://example.com","schedule_in":3600,"idempotency_key":"held","on_conflict":"refuse","request_id":"r"}`
	a.Post("/api/jobs", refused).WantProblem(409)
	a.Post(jobPath(holder)+"/cancel", nil).Want(200)
	created := a.Post("/api/jobs", refused).Want(201).Data()
	wantDuplicate(t, a.Post("/api/jobs", refused), created)

	a.Do(http.MethodPut, "/api/limits/gone", `{"rate":{"calls":1,"per":1}}`).Want(201)
	limited := `{"url":"https://example.com","schedule_in":3600,"limits":["gone"],"request_id":"limited"}`
	first := a.Post("/api/jobs", limited).Want(201).Data()
	a.Post(jobPath(first)+"/cancel", nil).Want(200)
	a.Do(http.MethodDelete, "/api/limits/gone", nil).Want(204)
	a.Post("/api/jobs", strings.Replace(limited, `"limited"`, `"new"`, 1)).WantProblem(422)
	first = a.Get(jobPath(first)).Want(200).Data()
	wantDuplicate(t, a.Post("/api/jobs", limited), first)
	batch := a.Post("/api/jobs/batch", `[`+limited+`]`).Want(200).Data()
	if batch.Get("0").Get("id").Raw() != first.Get("id").Raw() {
		t.Errorf("in a batch: %s", batch.Raw())
	}
}

func TestRequestID_ManyAtOnceCreateOne(t *testing.T) {
	t.Parallel()
	a := account(t)
	body := `{"url":"https://example.com","schedule_in":3600,"request_id":"many"}`
	var wg sync.WaitGroup
	statuses, ids := make([]int, 24), make([]string, 24)
	for i := range statuses {
		wg.Go(func() {
			path, sent := "/api/jobs", body
			if i%3 == 0 {
				path, sent = "/api/jobs/batch", "["+body+"]"
			}
			r := a.Post(path, sent)
			record := r.Data()
			if i%3 == 0 {
				record = record.Get("0")
			}
			statuses[i], ids[i] = r.Status, record.Get("id").Raw()
		})
	}
	wg.Wait()
	created := 0
	for i := range ids {
		if statuses[i] == 201 {
			created++
		}
		if ids[i] != ids[0] {
			t.Errorf("call %d was answered with %s, the first with %s", i, ids[i], ids[0])
		}
	}
	if created != 1 {
		t.Errorf("%d calls created a job: %v", created, statuses)
	}
}

package pages

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// schedulesMade is how many schedules the service makes, each with runsMade runs.
const schedulesMade, runsMade = 20, 2

// prototypes has the service make records of every kind, whose rows are copied.
func prototypes(t *testing.T, a *harness.Account) {
	t.Helper()
	target := harness.NewTarget(t)
	good, bad := target.Route(t), target.Route(t)
	good.Respond(harness.JSONReply(`{"invoice": 7, "lines": ["a", "b"], "ok": true}`))
	bad.Respond(harness.Status(http.StatusInternalServerError))
	a.Do("PUT", "/api/limits/stripe", `{"rate":{"calls":1000,"per":[1,"second"]}}`).Want(201)
	a.Do("PUT", "/api/limits/held", `{"parallel":1,"paused":true}`).Want(201)
	a.Do("PUT", "/api/groups/mirrors", `{"targets":[{"name":"eu","url":"`+good.URL+`"},{"name":"us","url":"`+bad.URL+`"}]}`).Want(201)
	a.Do("PUT", "/api/alerts/ops", `{"on":["failed","recovered"],"to":[{"webhook":"`+good.URL+`"}]}`).Want(201)
	a.Do("PUT", "/api/alerts/broken", `{"on":["failed"],"to":[{"webhook":"`+bad.URL+`"}]}`).Want(201)
	schedules(t, a, good.URL, bad.URL)
	jobs(t, a, good.URL, bad.URL)
	for range 2 {
		trigger(t, a, bad.URL)
	}
	for range 3 {
		a.Post("/api/operations", `{"action":"cancel","filter":{"tags":["nobody"]}}`).Want(202)
		harness.Eventually(t, pace.Guard(20*time.Second), "the end of an operation", func() bool {
			return a.Get("/api/operations?limit=1").Want(200).JSON.Get("data.0.state").Str() != "running"
		})
	}
}

func schedules(t *testing.T, a *harness.Account, good, bad string) {
	t.Helper()
	ids := make([]string, schedulesMade)
	for i := range ids {
		url := good
		if i%5 == 0 {
			url = bad
		}
		ids[i] = a.Post("/api/jobs", fmt.Sprintf(`{"url":%q,"name":"schedule %d","cron":"%d 3 1 1 *","idempotency_key":"s-%d",
			"retries":0,"tags":["team-%d","nightly"]}`, url, i, i, i, i%4)).Want(201).JSON.Get("data.schedule_id").Str()
	}
	for range runsMade {
		var made []ending
		for i, id := range ids {
			state := "completed"
			if i%5 == 0 {
				state = "discarded"
			}
			made = append(made, ending{a.Post("/api/schedules/"+id+"/run", nil).Want(200).JSON.Get("data.job_id").Int(), state})
		}
		await(t, a, made)
	}
	a.Do("PATCH", "/api/schedules/"+ids[1], `{"description":"Edited."}`).Want(200)
	a.Do("PUT", "/api/schedules/"+ids[5]+"/mute", `{"note":"known"}`)
}

// ending is a job with the state that it will have.
type ending struct {
	number int64
	state  string
}

func await(t *testing.T, a *harness.Account, jobs []ending) {
	t.Helper()
	for _, j := range jobs {
		harness.Eventually(t, pace.Guard(time.Minute), fmt.Sprintf("job %d to be %s", j.number, j.state), func() bool {
			return a.Get(fmt.Sprintf("/api/jobs/%d", j.number)).Want(200).JSON.Get("data.job.state").Str() == j.state
		})
	}
}

// jobs makes 60 jobs that have ended, some that wait for a retry, for a limit and for their
// time.
func jobs(t *testing.T, a *harness.Account, good, bad string) {
	t.Helper()
	local := strings.Replace(good, "127.0.0.1", "localhost", 1)
	create := func(format string, values ...any) int64 {
		return a.Post("/api/jobs", fmt.Sprintf(format, values...)).Want(201).JSON.Get("data.job_id").Int()
	}
	var made []ending
	for i := range 40 {
		url := good
		if i%4 == 0 {
			url = local
		}
		made = append(made, ending{create(`{"url":%q,"method":"post","name":"invoice %d","body":{"order":%d,"note":"please deliver"},
			"tags":["billing","tenant-%d"],"headers":{"X-Tenant":"%d"}}`, url, i%7, i, i%10, i), "completed"})
	}
	for i := range 6 {
		made = append(made, ending{create(`{"url":%q,"name":"export","retries":0,"tags":["export"],"idempotency_key":"export-%d"}`,
			bad, i), "discarded"})
	}
	for range 2 {
		made = append(made, ending{
			create(`{"url":"https://127.0.0.1:1/","name":"unreachable","retries":0,"tags":["export"]}`), "discarded"})
	}
	a.Post("/api/jobs", `{"method":"post","group":"mirrors","retries":0,"tags":["fan-out"]}`).Want(201)
	made = append(made, ending{create(`{"url":%q,"limits":["stripe"],"name":"charge"}`, good), "completed"})
	for range 2 {
		cancelled := create(`{"url":%q,"schedule_in":[9,"days"],"name":"report"}`, good)
		a.Post(fmt.Sprintf("/api/jobs/%d/cancel", cancelled), nil).Want(200)
		made = append(made, ending{create(`{"url":%q,"retries":9,"backoff":[86400],"name":"sync"}`, bad), "retryable"})
		create(`{"url":%q,"limits":["held"],"name":"mail"}`, good)
	}
	for i := range 4 {
		create(`{"url":%q,"schedule_in":[%d,"days"],"name":"reminder","tags":["billing"]}`, good, 9+i)
	}
	chain := ending{create(`{"url":%q,"name":"chain","retries":0,"tags":["export"]}`, bad), "discarded"}
	await(t, a, append(made, chain))
	for range 3 {
		chain.number = a.Post(fmt.Sprintf("/api/jobs/%d/rerun", chain.number), nil).Want(201).JSON.Get("data.job_id").Int()
		await(t, a, []ending{chain})
	}
}

// trigger starts a workflow run.
func trigger(t *testing.T, a *harness.Account, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.Client.Service.URL()+"/v2/trigger/"+url,
		strings.NewReader(`{"order":7}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.Key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("starting a workflow run: %s", response.Status)
	}
}

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// nightly are the schedules of a story: reports of three customers that take far
// longer than a request, on a system that computes two at a time.
type nightly struct {
	*testing.T
	owner    *harness.Account
	anyone   *harness.Client
	login    *harness.Route // gives tokens
	system   *harness.Route // starts reports and completes them later
	receiver *harness.Route // of the alert
}

// TestStory_ANightlyReportFailsTwiceAndRecovers runs a report that fails twice. An
// alert is sent, the report recovers, and the alert says so.
func TestStory_ANightlyReportFailsTwiceAndRecovers(t *testing.T) {
	t.Parallel()
	n := newNightly(t)
	acme := n.create("acme")
	n.alert(acme)

	job, path := n.runNow(acme, 1)
	n.report(path, `{"progress":30,"message":"12 minutes"}`)
	n.report(path, `{"error":"the warehouse is closed"}`)
	awaitState(t, n.owner.Client, job, "discarded")
	job, path = n.runNow(acme, 2)
	n.report(path, `{"error":"the warehouse is closed"}`)
	awaitState(t, n.owner.Client, job, "discarded")
	n.wantMessage(1, "alert.failed", acme, job, `2`, `{"kind":"answer","message":"the warehouse is closed"}`)

	// The third takes 40 minutes, during which the service is killed.
	job, path = n.runNow(acme, 3)
	n.report(path, `{"progress":50,"message":"20 minutes"}`)
	n.owner.Service.Kill()
	n.owner.Service.Restart(t)
	details := n.owner.Get(jobPath(job) + "/details").Want(200).Data()
	wantSame(t, "the job's state", details.Get("job.job.state"), `"executing"`)
	wantSame(t, "it awaits its completion", details.Get("completion.awaiting"), `true`)
	n.report(path, `{"progress":90,"message":"36 minutes"}`)
	n.report(path, `{"result":{"rows":1042,"$set":{"reported":1042}}}`)
	awaitState(t, n.owner.Client, job, "completed")
	n.wantMessage(2, "alert.recovered", acme, job, `0`, `null`)

	wantSame(t, "the runs that failed in a row", n.owner.Get("/api/schedules/"+acme+"/details").Want(200).Data().Get("failures_in_a_row"),
		`0`)
	n.wantNights(acme)
	if got := len(n.login.Hits()); got != 1 {
		t.Errorf("%d tokens were fetched for runs within an hour", got)
	}
	hits := n.system.Hits()
	wantSame(t, "the state that the third run got", hits[2].JSON().Get("$state"), `{}`)
	if len(hits) != 3 || !n.receiver.Quiet(time.Second) {
		t.Errorf("%d requests for three runs, %d messages for two changes", len(hits), len(n.receiver.Hits()))
	}
}

// TestStory_TwoReportsAtOnce runs three reports: the third waits until one of the
// others has reported, even though their requests have long been answered.
func TestStory_TwoReportsAtOnce(t *testing.T) {
	t.Parallel()
	n := newNightly(t)
	paths := map[string]string{}
	for i, customer := range []string{"acme", "bolt"} {
		_, paths[customer] = n.runNow(n.create(customer), i+1)
	}
	third := n.create("cole")
	job := n.owner.Post("/api/schedules/"+third+"/run", nil).Want(200).Data()
	harness.Eventually(t, soon, "the third report to wait for the limit", func() bool {
		return n.owner.Get(jobPath(job)+"/details").Want(200).Data().Get("waiting_for").Raw() == `["reports"]`
	})
	wantSame(t, "the reports under way", n.owner.Get("/api/limits/reports").Want(200).Data().Get("in_flight"), `2`)
	if hits := n.system.Hits(); len(hits) != 2 {
		t.Errorf("%d reports were started", len(hits))
	}
	n.report(paths["acme"], `{"result":{"rows":1}}`)
	hits := n.system.Await(t, 3, soon)
	wantSame(t, "the third report", hits[2].JSON().Get("customer"), `"cole"`)
	n.report(completionPath(t, hits[2]), `{"result":{"rows":3}}`)
	awaitState(t, n.owner.Client, job, "completed")
}

// newNightly starts the service, with the limit, the secret and the systems of the
// story.
func newNightly(t *testing.T) *nightly {
	t.Helper()
	n := &nightly{T: t, login: harness.SharedTarget(t).Route(t), system: harness.SharedTarget(t).Route(t),
		receiver: harness.SharedTarget(t).Route(t)}
	n.owner, n.anyone = completions(t, harness.Flag("secrets-key-file", newKeyFile(t)))
	n.login.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harness.JSONReply(`{"access_token":"a-token-for-reports","token_type":"Bearer","expires_in":3600}`).ServeHTTP(w, r)
	}))
	n.system.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a-token-for-reports" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	n.owner.Do(http.MethodPut, "/api/limits/reports", `{"parallel":2}`).Want(201)
	n.owner.Do(http.MethodPut, "/api/secrets/warehouse", `{"hosts":["127.0.0.1"],"oauth2":{"token_url":"`+n.login.URL+
		`","client_id":"reports","client_secret":"hush-hush-hush"}}`).Want(201)
	return n
}

// create creates the schedule of a customer's report and returns its id: at two in
// the morning in Berlin, never on Christmas and New Year's Day.
func (n *nightly) create(customer string) string {
	n.Helper()
	job := create(n.owner.Client, fmt.Sprintf(`{"name":"Report of %[1]s","idempotency_key":"report-%[1]s","method":"post","url":%[2]q,"body":{"customer":%[1]q},
		"headers":{"authorization":"Bearer {{secret.warehouse}}"},"limits":["reports"],"retries":0,
		"completion":{"within":[2,"hours"],"heartbeat":[15,"minutes"]},
		"scheduled_at":"2031-12-22T00:00:00Z","cron":"0 2 * * *","timezone":"Europe/Berlin","except":["2031-12-24/2031-12-26","2032-01-01"]}`, customer, n.system.URL))
	id := job.Get("schedule_id").Str()
	n.wantNights(id)
	return id
}

// wantNights verifies that a schedule's next runs leave out the holidays.
func (n *nightly) wantNights(schedule string) {
	n.Helper()
	wantSame(n.T, "the next nights", n.owner.Get("/api/schedules/"+schedule+"/details").Want(200).Data().Get("next"),
		`["2031-12-22T01:00:00.000000Z","2031-12-23T01:00:00.000000Z","2031-12-27T01:00:00.000000Z","2031-12-28T01:00:00.000000Z","2031-12-29T01:00:00.000000Z"]`)
}

func (n *nightly) alert(schedule string) {
	n.Helper()
	n.owner.Do(http.MethodPut, "/api/alerts/reports", `{"on":["failed","recovered"],"after":2,"match":{"schedule_id":"`+schedule+
		`"},"to":[{"webhook":"`+n.receiver.URL+`"}]}`).Want(201)
}

// runNow makes the pending run now. It returns the run once it awaits its completion,
// and the path to report at. hits is how many requests the system has then got.
func (n *nightly) runNow(schedule string, hits int) (job harness.JSON, path string) {
	n.Helper()
	job = n.owner.Post("/api/schedules/"+schedule+"/run", nil).Want(200).Data()
	path = completionPath(n.T, n.system.Await(n.T, hits, soon)[hits-1])
	harness.Eventually(n.T, soon, "the 202 to be stored", func() bool { return awaitsCompletion(n.owner.Client, job) })
	return job, path
}

func (n *nightly) report(path, body string) {
	n.Helper()
	n.anyone.Post(path, body).Want(200)
}

// wantMessage waits for the alert's message with this number.
func (n *nightly) wantMessage(number int, kind, schedule string, job harness.JSON, failures, problem string) {
	n.Helper()
	hits := n.receiver.Await(n.T, number, soon)
	if len(hits) != number {
		n.Errorf("%d messages, want %d: %s", len(hits), number, messages(hits))
	}
	message := hits[number-1].JSON()
	wantSame(n.T, "the message", message.Get("type"), quote(kind))
	wantSame(n.T, "the message's schedule", message.Get("data.schedule"), quote(schedule))
	wantSame(n.T, "the message's job", message.Get("data.job"), job.Get("job_id").Raw())
	wantSame(n.T, "the failures in a row", message.Get("data.failures"), failures)
	wantSame(n.T, "the message's error", message.Get("data.error"), problem)
	if text := message.Raw(); strings.Contains(text, "a-token-for-reports") || strings.Contains(text, "customer") {
		n.Errorf("the message shows the request: %s", text)
	}
}

package goclient

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func newClient(t *testing.T, service *harness.Service, account *harness.Account) *client.Client {
	t.Helper()
	_, key := service.NewKey(t, account.Email)
	c, err := client.New(client.Config{URL: service.URL(), Key: key, MaxRetries: 12, MaxWait: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// call fails the test with an error of a call.
func call[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// wantStatus checks that an error is a problem with a status.
func wantStatus(t *testing.T, err error, status int) *client.Problem {
	t.Helper()
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Status != status {
		t.Fatalf("the error is %v, want a problem with status %d", err, status)
	}
	return problem
}

func start(t *testing.T) (*client.Client, *harness.Route, *harness.Account) {
	t.Helper()
	t.Parallel()
	service := harness.Shared(t)
	account := service.Account(t)
	return newClient(t, service, account), harness.SharedTarget(t).Route(t), account
}

// later is a request of a job that stays pending.
func later(route *harness.Route) client.JobRequest {
	return client.JobRequest{URL: route.URL, ScheduleIn: client.Day}
}

func TestClient_FollowsAJobFromCreationToItsLogs(t *testing.T) {
	c, route, account := start(t)
	ctx := t.Context()
	record := call[*client.JobRecord](t)(c.CreateJob(ctx,
		client.JobRequest{URL: route.URL, Method: "post", Name: "hello", Body: map[string]string{"a": "<b>"}}))
	if record.Job.HasConflict || record.UserID != account.ID || *record.Name != "hello" || time.Since(record.InsertedAt.Time) > time.Hour {
		t.Errorf("the record is %+v", record)
	}
	final := call[*client.JobRecord](t)(c.WaitJob(ctx, client.ID(record.JobID)))
	if final.Job.State != client.Completed || final.ETag != `"1"` || final.Job.CompletedAt == nil {
		t.Errorf("the final record is %+v", final)
	}
	details := call[*client.JobDetails](t)(c.GetJobDetails(ctx, client.ID(record.ID)))
	if len(details.Attempts) != 1 || *details.Attempts[0].Status != 200 {
		t.Errorf("the details are %+v", details)
	}
	var events []string
	for entry, err := range c.ListLogs(ctx, client.LogFilter{JobID: record.JobID,
		Page: client.Page{PageSize: 1, OrderBy: "inserted_at,asc"}}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, entry.Event)
	}
	for entry, err := range c.ExportLogs(ctx, client.LogFilter{JobID: record.JobID}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, entry.Event)
		call[*client.LogRecord](t)(c.GetLog(ctx, entry.ID))
	}
	if len(events) != 4 || events[0] != "worker.http.request" || events[1] != "worker.http.response" {
		t.Errorf("the log entries are %v", events)
	}
	rerun := call[*client.JobRecord](t)(c.RerunJob(ctx, client.ID(record.JobID), client.Edit{"schedule_in": client.Day}))
	if rerun.JobID == record.JobID || rerun.Job.State != client.Available {
		t.Errorf("the rerun is %+v", rerun)
	}
	const key = client.IdempotencyKey("again/1042")
	first := call[*client.JobRecord](t)(c.RerunJob(ctx, client.ID(record.JobID), client.Edit{"schedule_in": client.Day}, key))
	second := call[*client.JobRecord](t)(c.RerunJob(ctx, client.ID(record.JobID), client.Edit{"schedule_in": client.Day}, key))
	if first.JobID == rerun.JobID || first.Job.HasConflict || second.JobID != first.JobID || !second.Job.HasConflict {
		t.Errorf("reruns with one key are %+v and %+v", first.Job, second.Job)
	}
	_, err := c.RerunJob(ctx, client.ID(record.JobID), nil, key)
	wantStatus(t, err, http.StatusUnprocessableEntity)
	call[*client.JobRecord](t)(c.RunJob(ctx, client.ID(rerun.ID)))

	verifier, err := client.NewVerifier("whsec_c29tZSBvdGhlciBzZWNyZXQgb2YgdGhlIGFjY291bnQ=", account.Secret)
	if err != nil {
		t.Fatal(err)
	}
	hit := route.Hits()[0]
	signed, err := verifier.Verify(hit.Header, hit.Body)
	if err != nil || signed.ID != "job_"+record.ID || !strings.Contains(string(hit.Body), `"a":"<b>"`) {
		t.Errorf("received %s from %+v, %v", hit.Body, signed, err)
	}
}

func TestClient_EditsWithConditions(t *testing.T) {
	c, route, _ := start(t)
	ctx := t.Context()
	request := later(route)
	request.IdempotencyKey, request.Tags = "invoice/1042", []string{"billing"}
	call[*client.JobRecord](t)(c.CreateJob(ctx, request))
	if again := call[*client.JobRecord](t)(c.CreateJob(ctx, request)); !again.Job.HasConflict {
		t.Error("a duplicate is not marked")
	}
	record := call[*client.JobRecord](t)(c.GetJob(ctx, client.Key("invoice/1042")))
	edited := call[*client.JobRecord](t)(c.EditJob(ctx, client.Key("invoice/1042"), client.Edit{"name": "edited", "tags": nil},
		client.IfMatch(record.ETag)))
	if *edited.Name != "edited" || edited.ETag != `"2"` {
		t.Errorf("the edited record is %+v", edited)
	}
	_, err := c.EditJob(ctx, client.ID(record.ID), client.Edit{"name": "late"}, client.IfMatch(record.ETag))
	wantStatus(t, err, http.StatusPreconditionFailed)
	_, err = c.EditJob(ctx, client.ID(record.ID), client.Edit{"url": "ftp://x", "retries": 99})
	if problem := wantStatus(t, err, http.StatusUnprocessableEntity); len(problem.Errors) != 2 || problem.Code == "" {
		t.Errorf("the problem is %+v", problem)
	}
	revisions := call[[]client.Revision](t)(c.ListJobRevisions(ctx, client.ID(record.ID)))
	if len(revisions) != 1 || len(revisions[0].Changes) != 2 {
		t.Errorf("the revisions are %+v", revisions)
	}
	_, err = c.CancelJob(ctx, client.ID(record.ID), client.IfMatch(record.ETag))
	wantStatus(t, err, http.StatusPreconditionFailed)
	if got := call[[]client.JobRecord](t)(c.CancelJobs(ctx, client.ID(record.ID))); got[0].Job.State != client.Cancelled {
		t.Errorf("the cancelled record is %+v", got[0])
	}
	call[*client.JobRecord](t)(c.CancelJob(ctx, client.ID(record.ID)))
	_, err = c.GetJob(ctx, client.Key("nobody/has it"))
	wantStatus(t, err, http.StatusNotFound)
}

func TestClient_CreatesListsAndChangesManyJobs(t *testing.T) {
	c, route, _ := start(t)
	ctx := t.Context()
	requests := make([]client.JobRequest, 5)
	for i := range requests {
		requests[i] = later(route)
		requests[i].Name = fmt.Sprint("job ", i)
	}
	for i, record := range call[[]client.JobRecord](t)(c.CreateJobs(ctx, requests)) {
		if *record.Name != fmt.Sprint("job ", i) {
			t.Errorf("record %d is %s", i, *record.Name)
		}
	}
	if got := call[[]client.MinimalJob](t)(c.CreateJobsMinimal(ctx, requests[:2])); len(got) != 2 || got[0].JobID == 0 {
		t.Errorf("the ids are %+v", got)
	}
	outcomes := call[[]client.BatchOutcome](t)(c.CreateJobsSeparately(ctx, []client.JobRequest{requests[0], {URL: "ftp://x"}}))
	if outcomes[0].Job == nil || outcomes[1].Problem == nil || outcomes[1].Problem.Pointer() != "#/url" {
		t.Errorf("the outcomes are %+v", outcomes)
	}
	count := 0
	for _, err := range c.ListJobs(ctx, client.JobFilter{Page: client.Page{PageSize: 3}, State: client.Scheduled, Host: "127.0.0.1"}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if counts := call[*client.JobCounts](t)(c.CountJobs(ctx, client.JobFilter{})); count != 8 || counts.Available != 8 ||
		counts.Limit == 0 {
		t.Errorf("listed %d, counted %+v", count, counts)
	}
	cancel := client.OperationRequest{Action: "cancel", Filter: client.OperationFilter{Name: "job 0"}}
	if matched := call[int64](t)(c.CountOperation(ctx, cancel)); matched != 3 {
		t.Errorf("%d jobs match, want 3", matched)
	}
	operation := call[*client.OperationRecord](t)(c.StartOperation(ctx, cancel))
	operation = call[*client.OperationRecord](t)(c.WaitOperation(ctx, operation.ID))
	if operation.State != "finished" || operation.Done != 3 {
		t.Errorf("the operation is %+v", operation)
	}
	for listed, err := range c.ListOperations(ctx) {
		if err != nil || listed.ID != operation.ID {
			t.Errorf("listed %+v, %v", listed, err)
		}
	}
	call[*client.OperationRecord](t)(c.StopOperation(ctx, operation.ID))
	if got := call[*client.Preview](t)(c.PreviewJob(ctx,
		client.JobRequest{URL: route.URL, Cron: "0 9 * * *", Timezone: "Europe/Berlin"})); len(got.Next) != 5 {
		t.Errorf("the preview is %+v", got)
	}
	both := call[*client.BatchThen](t)(c.CreateJobsThen(ctx, []client.JobRequest{later(route), later(route)}, later(route)))
	details := call[*client.JobDetails](t)(c.GetJobDetails(ctx, client.ID(both.Then.JobID)))
	if len(both.Jobs) != 2 || len(details.WaitingFor) != 2 || details.WaitingFor[0] != fmt.Sprint("job:", both.Jobs[0].JobID) {
		t.Errorf("a batch with then: %+v, which waits for %v", both, details.WaitingFor)
	}
}

func TestClient_ManagesSchedules(t *testing.T) {
	c, route, _ := start(t)
	ctx, key := t.Context(), client.Key("nightly report")
	request := client.JobRequest{URL: route.URL, RepeatEvery: 6 * client.Day, ScheduleIn: client.Day, Tags: []string{"reports"}}
	schedule, created, err := c.PutSchedule(ctx, key, request)
	if err != nil || !created || schedule.Frequency.RepeatEvery != 6*client.Day {
		t.Fatalf("the schedule is %+v, %v, %v", schedule, created, err)
	}
	if _, created, err := c.PutSchedule(ctx, key, request); created || err != nil {
		t.Errorf("put again: created %v, %v", created, err)
	}
	other, first := request, schedule.ETag
	other.RepeatEvery = 5 * client.Day
	_, _, err = c.PutSchedule(ctx, key, other, client.IfNew)
	wantStatus(t, err, http.StatusPreconditionFailed)
	schedule = call[*client.ScheduleRecord](t)(c.EditSchedule(ctx, key, client.Edit{"name": "Nightly"}, client.IfMatch(schedule.ETag)))
	_, _, err = c.PutSchedule(ctx, key, other, client.IfMatch(first))
	wantStatus(t, err, http.StatusPreconditionFailed)
	_, err = c.DisableSchedule(ctx, key, client.IfMatch(first))
	wantStatus(t, err, http.StatusPreconditionFailed)
	if again := call[*client.ScheduleRecord](t)(c.GetSchedule(ctx, client.ID(schedule.ID))); again.ETag != schedule.ETag ||
		again.ETag != `"2"` {
		t.Errorf("the revisions are %s and %s", schedule.ETag, again.ETag)
	}
	if got := call[[]client.Revision](t)(c.ListScheduleRevisions(ctx, key)); len(got) != 1 {
		t.Errorf("the revisions are %+v", got)
	}
	call[*client.State](t)(c.PutState(ctx, key, map[string]int{"sent": 3}))
	if got := call[*client.State](t)(c.GetState(ctx, key)); string(got.State) != `{"sent":3}` {
		t.Errorf("the state is %s", got.State)
	}
	if err := c.DeleteState(ctx, key); err != nil {
		t.Error(err)
	}
	run := call[*client.JobRecord](t)(c.RunSchedule(ctx, key))
	call[*client.JobRecord](t)(c.WaitJob(ctx, client.ID(run.ID)))
	if got := call[*client.ScheduleDetails](t)(c.GetScheduleDetails(ctx, key)); got.LastRun == nil || got.LastRun.JobID != run.JobID ||
		got.NextRunAt == nil {
		t.Errorf("the details are %+v", got)
	}
	month := time.Now().UTC().Format("2006-01")
	for _, asked := range []string{"", month} {
		got := call[*client.SchedulePunctuality](t)(c.GetSchedulePunctuality(ctx, key, asked))
		if got.Month < month || !got.Complete || got.Made != got.Completed+got.Failed {
			t.Errorf("the report is %+v", got)
		}
	}
	nextRun := func(filter client.ScheduleFilter) *client.Time {
		t.Helper()
		for listed, err := range c.ListSchedules(ctx, filter) {
			if err != nil || listed.ID != schedule.ID {
				t.Fatalf("listed %+v, %v", listed, err)
			}
			return listed.NextRunAt
		}
		t.Fatal("no schedule is listed")
		return nil
	}
	if plain, due := nextRun(client.ScheduleFilter{}), nextRun(client.ScheduleFilter{NextRunAt: true}); plain != nil || due == nil ||
		due.Before(time.Now()) {
		t.Errorf("the next run is due at %v, without the filter at %v", due, plain)
	}
	if got := call[*client.ScheduleRecord](t)(c.DisableSchedule(ctx, key)); got.DisabledAt == nil ||
		nextRun(client.ScheduleFilter{NextRunAt: true}) != nil {
		t.Error("the schedule is not disabled")
	}
	call[*client.ScheduleRecord](t)(c.EnableSchedule(ctx, key))
	_, err = c.MuteSchedule(ctx, key, client.NewMute{Until: new(client.UntilRecovered)})
	wantStatus(t, err, http.StatusConflict)
	call[*client.Mute](t)(c.MuteSchedule(ctx, key, client.NewMute{Note: new("Known.")}))
	if got := call[*client.ScheduleDetails](t)(c.GetScheduleDetails(ctx, key)); got.Mute == nil || got.Mute.Until != nil ||
		*got.Mute.Note != "Known." {
		t.Errorf("the mute is %+v", got.Mute)
	}
	if err := c.UnmuteSchedule(ctx, key); err != nil {
		t.Error(err)
	}

	document := client.Document{Owner: "repo", Schedules: []client.DocumentSchedule{{Key: "weekly",
		JobRequest: client.JobRequest{URL: route.URL, Cron: "@weekly"}}}}
	if got := call[*client.Comparison](t)(c.RehearseApply(ctx, document)); len(got.Schedules) != 1 ||
		got.Schedules[0].Difference.Added < 52 {
		t.Errorf("apply would do %+v", got)
	}
	if got := call[*client.Rehearsed](t)(c.Rehearse(ctx, client.RehearsalRequest{Schedules: document.Schedules})); len(
		got.Schedules) != 1 || got.Schedules[0].Runs < 52 {
		t.Errorf("rehearsed %+v", got)
	}
	results, etag, err := c.Apply(ctx, document)
	if err != nil || len(results) != 1 || results[0].Result != "created" || etag == "" {
		t.Fatalf("applied %+v, %q, %v", results, etag, err)
	}
	weekly := client.Key("weekly")
	if got := call[*client.Comparison](t)(c.RehearseEdit(ctx, weekly,
		client.Edit{"cron": "@daily"})); got.Schedules[0].Result != "changed" || got.Schedules[0].Difference.Added < 300 {
		t.Errorf("an edit would do %+v", got.Schedules[0])
	}
	if got := call[*client.Comparison](t)(c.RehearsePut(ctx, weekly,
		client.JobRequest{URL: route.URL, Cron: "@weekly"})); got.Schedules[0].Result != "unchanged" {
		t.Errorf("put would do %+v", got.Schedules[0])
	}
	if results, _, err := c.Apply(ctx, document, client.IfMatch(etag)); err != nil || results[0].Result != "unchanged" {
		t.Errorf("applied again: %+v, %v", results, err)
	}
	_, _, err = c.Apply(ctx, document, client.IfMatch(`"old"`))
	wantStatus(t, err, http.StatusPreconditionFailed)
	if got := call[*client.Punctuality](t)(c.GetPunctuality(ctx)); got.At.IsZero() || got.Hour.Since.Before(got.Week.Since.Time) {
		t.Errorf("the punctuality is %+v", got)
	}
	if got := call[[]byte](t)(func() ([]byte, error) { return c.ExportSchedules(ctx, "repo") }()); !strings.Contains(string(got),
		`"weekly"`) {
		t.Errorf("exported %s", got)
	}
	listed := 0
	for _, err := range c.ListSchedules(ctx, client.ScheduleFilter{Tags: []string{"reports"}}) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
	}
	if err := c.DeleteSchedule(ctx, key); err != nil || listed != 1 {
		t.Errorf("listed %d; deleting: %v", listed, err)
	}
}

func TestClient_ManagesLimitsAlertsAndTheAccount(t *testing.T) {
	c, route, account := start(t)
	ctx := t.Context()
	parallel := int64(5)
	limit := client.Limit{Key: "stripe", Rate: &client.Rate{Calls: 100, Per: client.In(time.Minute)}, Parallel: &parallel}
	call[*client.Limit](t)(c.PutLimit(ctx, limit))
	if got := call[*client.LimitUse](t)(c.GetLimit(ctx, "stripe")); *got.Parallel != 5 || got.Rate.Per != client.In(time.Minute) {
		t.Errorf("the limit is %+v", got)
	}
	request := later(route)
	request.Limits = []string{"stripe"}
	call[*client.JobRecord](t)(c.CreateJob(ctx, request))
	wantStatus(t, c.DeleteLimit(ctx, "stripe"), http.StatusConflict)
	for got, err := range c.ListLimits(ctx) {
		if err != nil || got.Key != "stripe" {
			t.Errorf("listed %+v, %v", got, err)
		}
	}

	for got, err := range c.ListRuns(ctx, client.RunQuery{State: client.RunFailed, Label: "none", Limit: 1}) {
		t.Errorf("listed %+v, %v", got, err)
	}
	_, err := c.GetRun(ctx, "wfr_none")
	wantStatus(t, err, http.StatusNotFound)
	_, err = c.CancelRun(ctx, "wfr_none")
	wantStatus(t, err, http.StatusNotFound)

	call[*client.Alert](t)(c.PutAlert(ctx, "failures",
		client.AlertRequest{On: []string{"failed"}, After: 3, To: []client.AlertReceiver{{Webhook: route.URL}}}))
	if got := call[*client.AlertTest](t)(c.TestAlert(ctx, "failures")); len(got.Results) != 1 || *got.Results[0].Status != 200 {
		t.Errorf("the test's result is %+v", got)
	}
	if got := call[*client.Alert](t)(c.GetAlert(ctx, "failures")); got.After != 3 || got.To[0].Webhook != route.URL {
		t.Errorf("the alert is %+v", got)
	}
	for got, err := range c.ListAlerts(ctx) {
		if err != nil || got.Name != "failures" {
			t.Errorf("listed %+v, %v", got, err)
		}
	}
	if err := c.DeleteAlert(ctx, "failures"); err != nil {
		t.Error(err)
	}

	if got := call[*client.Account](t)(c.GetAccount(ctx)); got.ID != account.ID || got.Usage.PendingJobs != 1 {
		t.Errorf("the account is %+v", got)
	}
	key := call[*client.APIKey](t)(c.CreateKey(ctx, client.NewKey{Name: "ci", Scope: "read"}))
	if key.Key == "" || key.Scope != "read" {
		t.Errorf("the key is %+v", key)
	}
	if err := c.RevokeKey(ctx, key.ID); err != nil {
		t.Error(err)
	}
	invited := call[*client.Member](t)(c.InviteMember(ctx,
		client.NewMember{Email: "guest-" + key.ID + "@example.com", Role: client.RoleViewer}))
	if !strings.Contains(invited.Link, "/join/") || invited.State != "invited" {
		t.Errorf("the invitation is %+v", invited)
	}
	if got := call[*client.Member](t)(c.ChangeMember(ctx, invited.ID,
		client.MemberChange{Role: client.RoleOwner})); got.Role != client.RoleOwner || got.Link != "" {
		t.Errorf("changed, it is %+v", got)
	}
	members := 0
	for m, err := range c.ListMembers(ctx) {
		if members++; err != nil || m.Role != client.RoleOwner {
			t.Errorf("a member is %+v, %v", m, err)
		}
	}
	if err := c.RemoveMember(ctx, invited.ID); err != nil || members != 2 {
		t.Errorf("%d members, removing one: %v", members, err)
	}
	if got := call[[]client.SigningSecret](t)(c.RotateSigningSecret(ctx)); len(got) != 2 || got[1].ExpiresAt == nil {
		t.Errorf("the secrets are %+v", got)
	}
	lists := 0
	for _, err := range c.ListSigningSecrets(ctx) {
		lists++
		if err != nil {
			t.Error(err)
		}
	}
	for _, err := range c.ListKeys(ctx) {
		lists++
		if err != nil {
			t.Error(err)
		}
	}
	for _, err := range c.ListAudit(ctx, "") {
		lists++
		if err != nil {
			t.Error(err)
		}
	}
	if lists < 6 {
		t.Errorf("secrets, keys and audit have %d entries", lists)
	}
	if got := call[*client.Stats](t)(c.GetStats(ctx, 5)); len(got.Minutes) != 5 {
		t.Errorf("the statistics are %+v", got)
	}
	if got := call[[]byte](t)(func() ([]byte, error) { return c.Echo(ctx, []int{1}) }()); strings.TrimSpace(string(got)) != "[1]" {
		t.Errorf("the echo is %s", got)
	}
	if err := c.Broadcast(ctx, map[string]any{"content": "hello"}); err != nil {
		t.Error(err)
	}
}

func TestClient_KeepsSecretsAndCompletesWork(t *testing.T) {
	t.Parallel()
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	service := harness.Start(t, harness.Flag("secrets-key-file", keyFile), harness.Flag("public-url", "https://punctual.example"))
	account := service.Account(t)
	c, route, ctx := newClient(t, service, account), harness.SharedTarget(t).Route(t), t.Context()

	call[*client.HeaderSecret](t)(c.PutHeaderSecret(ctx, "token",
		client.NewHeaderSecret{Value: "a secret value", Hosts: []string{"127.0.0.1"}}))
	if got := call[*client.HeaderSecret](t)(c.GetHeaderSecret(ctx, "token")); got.Hosts[0] != "127.0.0.1" {
		t.Errorf("the secret is %+v", got)
	}
	for got, err := range c.ListHeaderSecrets(ctx) {
		if err != nil || got.Name != "token" {
			t.Errorf("listed %+v, %v", got, err)
		}
	}

	route.Respond(harness.Status(http.StatusAccepted))
	record := call[*client.JobRecord](t)(c.CreateJob(ctx, client.JobRequest{
		URL: route.URL, Headers: map[string]any{"authorization": "Bearer {{secret.token}}"},
		Completion: &client.Completion{Within: client.In(time.Hour)},
	}))
	hit := route.Await(t, 1, 30*time.Second)[0]
	if got := hit.Header.Get("Authorization"); got != "Bearer a secret value" {
		t.Errorf("sent %q", got)
	}
	address := hit.Header.Get("X-Punctual-Complete")
	if _, err := c.CompleteAttempt(ctx, address, client.Report{Result: 1}); err == nil || !strings.Contains(err.Error(), "public URL") {
		t.Errorf("a report to another origin: %v", err)
	}
	// As if the service's public URL were the one that the client has.
	address = strings.Replace(address, "https://punctual.example", service.URL(), 1)
	progress := 50.0
	if got := call[*client.CompletionState](t)(c.CompleteAttempt(ctx, address, client.Report{Progress: &progress})); got.Progress == nil ||
		got.Progress.Progress != 50 {
		t.Errorf("the completion is %+v", got)
	}
	call[*client.CompletionState](t)(c.CompleteAttempt(ctx, address, client.Report{Result: map[string]int{"n": 1}}))
	if got := call[*client.JobRecord](t)(c.WaitJob(ctx, client.ID(record.ID))); got.Job.State != client.Completed {
		t.Errorf("the job is %s", got.Job.State)
	}
	var logs []string
	for entry, err := range c.ListLogs(ctx, client.LogFilter{JobID: record.JobID, Page: client.Page{OrderBy: "inserted_at,asc"}}) {
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, entry.ID)
	}
	for event, err := range c.FollowEvents(ctx, logs[0]) {
		if err != nil {
			t.Fatal(err)
		}
		if event.ID != logs[1] || event.Log == nil || event.Log.JobID != record.JobID {
			t.Errorf("the first event is %+v, want log entry %s", event, logs[1])
		}
		break
	}
	if err := c.DeleteHeaderSecret(ctx, "token"); err != nil {
		t.Error(err)
	}
}

// losing loses the first response of the service after it has acted.
type losing struct {
	once   sync.Once
	before func()
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	l.once.Do(func() {
		if err == nil {
			response.Body.Close()
		}
		l.before()
		response, err = nil, errors.New("the connection was lost")
	})
	return response, err
}

func TestClient_RepeatedCreateFindsTheFirstJobThoughItHasEnded(t *testing.T) {
	watcher, route, account := start(t)
	service := harness.Shared(t)
	_, key := service.NewKey(t, account.Email)
	lost := &losing{before: func() { // until the job has ended, and would free its key
		for job, err := range watcher.ListJobs(t.Context(), client.JobFilter{}) {
			if err != nil {
				t.Error(err)
				return
			}
			call[*client.JobRecord](t)(watcher.WaitJob(t.Context(), client.ID(job.ID)))
		}
	}}
	c := call[*client.Client](t)(client.New(client.Config{URL: service.URL(), Key: key, HTTPClient: &http.Client{Transport: lost}}))
	record := call[*client.JobRecord](t)(c.CreateJob(t.Context(), client.JobRequest{URL: route.URL}))
	if record.Job.State != client.Completed || record.Job.HasConflict || len(route.Hits()) != 1 {
		t.Errorf("after %d requests the record is %+v", len(route.Hits()), record)
	}
}

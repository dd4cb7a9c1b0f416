package goclient

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/punctualtest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// program is under test. It notes what it gets.
type program struct {
	mu  sync.Mutex
	got []http.Header
}

func (r *program) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, request.Header)
	switch request.URL.Path {
	case "/fails":
		w.WriteHeader(http.StatusInternalServerError)
	case "/promises":
		w.WriteHeader(http.StatusAccepted) // and reports nothing
	}
}

func (r *program) take() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

func startDev(t *testing.T) (*punctualtest.Service, *program, string) {
	t.Helper()
	t.Setenv("PUNCTUAL_BINARY", harness.Binary(t))
	service, tested := punctualtest.Start(t), &program{}
	target := httptest.NewServer(tested)
	t.Cleanup(target.Close)
	return service, tested, target.URL
}

func TestAdvance_SendsWhatIsDueInOrder(t *testing.T) {
	service, tested, target := startDev(t)
	ctx := t.Context()
	schedule := call[*client.JobRecord](t)(service.Client.CreateJob(ctx,
		client.JobRequest{URL: target + "/monthly", Method: "post", Cron: "0 9 1 * *"}))
	began := schedule.InsertedAt.Time
	var due []string
	for at := time.Date(began.Year(), began.Month(), 1, 9, 0, 0, 0, time.UTC); len(due) < 12; at = at.AddDate(0, 1, 0) {
		if at.After(began) { // on the first day of a month also that day
			due = append(due, at.Format("2006-01-02T15:04:05.000000Z"))
		}
	}
	now := service.Advance(t, 366*24*time.Hour)
	if ahead := now.Sub(began); ahead < 366*24*time.Hour {
		t.Errorf("the time is %v ahead, want 366 days at least", ahead)
	}
	got := tested.take()
	if len(got) < len(due) {
		t.Fatalf("%d requests in a year, want %d", len(got), len(due))
	}
	for i, want := range due {
		if at := got[i].Get("X-Punctual-Scheduled-At"); at != want {
			t.Errorf("request %d was due at %s, want %s", i, at, want)
		}
		if age := time.Since(unixOf(t, got[i].Get("Webhook-Timestamp"))); age.Abs() > time.Hour {
			t.Errorf("request %d is signed for %v ago; receivers verify the machine's time", i, age)
		}
	}
}

func TestAdvance_RetriesAndLimits(t *testing.T) {
	service, tested, target := startDev(t)
	ctx := t.Context()
	failing := call[*client.JobRecord](t)(service.Client.CreateJob(ctx, client.JobRequest{URL: target + "/fails", Method: "post"}))
	service.Advance(t, 24*time.Hour)
	if n := len(tested.take()); n != 4 {
		t.Errorf("%d attempts, want 4", n)
	}
	if r := call[*client.JobRecord](t)(service.Client.GetJob(ctx, client.ID(failing.ID))); r.Job.State != "discarded" {
		t.Errorf("the job is %s, want discarded", r.Job.State)
	}
	call[*client.Limit](t)(service.Client.PutLimit(ctx,
		client.Limit{Key: "slow", Rate: &client.Rate{Calls: 1, Per: client.Duration(time.Hour)}}))
	for range 5 {
		call[*client.JobRecord](t)(service.Client.CreateJob(ctx, client.JobRequest{URL: target + "/slow", Limits: []string{"slow"}}))
	}
	service.Advance(t, 2*time.Hour+30*time.Minute)
	if n := len(tested.take()); n != 3 {
		t.Errorf("a limit of one an hour let %d through in two and a half hours, want 3", n)
	}
	service.Advance(t, 10*time.Hour)
	if n := len(tested.take()); n != 2 {
		t.Errorf("%d requests later, want the other 2", n)
	}
}

func TestAdvance_EndsWhatIsNotCompletedInTime(t *testing.T) {
	service, tested, target := startDev(t)
	ctx, retries := t.Context(), 1
	j := call[*client.JobRecord](t)(service.Client.CreateJob(ctx, client.JobRequest{
		URL: target + "/promises", Method: "post", Retries: &retries,
		Completion: &client.Completion{Within: client.Duration(10 * time.Minute)},
	}))
	service.Advance(t, 15*time.Minute)
	if n := len(tested.take()); n != 2 {
		t.Errorf("%d attempts in a quarter of an hour, want one and its retry after ten minutes", n)
	}
	service.Advance(t, 15*time.Minute)
	if r := call[*client.JobRecord](t)(service.Client.GetJob(ctx, client.ID(j.ID))); r.Job.State != "discarded" {
		t.Errorf("the job is %s after both deadlines, want discarded", r.Job.State)
	}
}

func unixOf(t *testing.T, seconds string) time.Time {
	t.Helper()
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(n, 0)
}

func TestAdvance_NotInProduction(t *testing.T) {
	t.Parallel()
	service := harness.Shared(t)
	_, key := service.NewKey(t, service.Account(t).Email)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, service.URL()+"/api/dev/advance",
		strings.NewReader(`{"by":60}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response := call[*http.Response](t)(http.DefaultClient.Do(request))
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("punctual serve responds %s, want 404", response.Status)
	}
}

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/client"
)

// api calls the service as any program does: through package client, with a key.
type api struct {
	client *client.Client
	http   *http.Client
}

func newAPI(url, key string) (*api, error) {
	// A proxy from the environment would not know this machine's loopback.
	a := &api{http: &http.Client{Transport: &http.Transport{Proxy: nil}}}
	var err error
	a.client, err = client.New(client.Config{URL: url, Key: key, HTTPClient: a.http})
	return a, err
}

// jobRecord is what the demo reads of a job.
type jobRecord struct {
	Name       string  `json:"name"`
	ScheduleID *string `json:"schedule_id"`
	Number     int64   `json:"job_id"`
	Job        struct {
		State       string    `json:"state"`
		ScheduledAt time.Time `json:"scheduled_at"`
		AttemptedAt time.Time `json:"attempted_at"`
		CompletedAt time.Time `json:"completed_at"`
	} `json:"job"`
}

// scheduleRecord is what the demo reads of a schedule.
type scheduleRecord struct {
	Name       string  `json:"name"`
	DisabledAt *string `json:"disabled_at"`
}

// logRecord is what the demo reads of a log.
type logRecord struct {
	ID         string    `json:"id"`
	Event      string    `json:"event"`
	Job        int64     `json:"job_id"`
	InsertedAt time.Time `json:"inserted_at"`
	Payload    struct {
		Status  int       `json:"status"`
		RetryAt time.Time `json:"retry_at"`
		Kind    string    `json:"kind"`
		Message string    `json:"message"`
	} `json:"payload"`
}

// Events of the log that the demo knows.
const (
	eventRequest  = "worker.http.request"
	eventResponse = "worker.http.response"
	eventError    = "worker.http.error"
)

func (a *api) create(ctx context.Context, job string) (record jobRecord, err error) {
	err = a.call(ctx, http.MethodPost, "/api/jobs", job, &record)
	return record, err
}

func (a *api) disable(ctx context.Context, schedule string) error {
	return a.call(ctx, http.MethodPost, "/api/schedules/"+schedule+"/disable", "", nil)
}

func (a *api) job(ctx context.Context, number int64) (record jobRecord, err error) {
	err = a.call(ctx, http.MethodGet, fmt.Sprintf("/api/jobs/%d", number), "", &record)
	return record, err
}

// jobs lists jobs; state is "" for all.
func (a *api) jobs(ctx context.Context, state string) (records []jobRecord, err error) {
	path := "/api/jobs?limit=100"
	if state != "" {
		path += "&state=" + state
	}
	err = a.call(ctx, http.MethodGet, path, "", &records)
	return records, err
}

func (a *api) schedules(ctx context.Context) (records []scheduleRecord, err error) {
	err = a.call(ctx, http.MethodGet, "/api/schedules?limit=100", "", &records)
	return records, err
}

// logs lists the logs, oldest first.
func (a *api) logs(ctx context.Context) (records []logRecord, err error) {
	err = a.call(ctx, http.MethodGet, "/api/logs?limit=100&order_by=inserted_at,asc", "", &records)
	return records, err
}

// call makes a call and reads the data of its response.
func (a *api) call(ctx context.Context, method, path, body string, data any) error {
	request := client.Request{Method: method, Path: path}
	if body != "" {
		request.Body = json.RawMessage(body)
	}
	got, err := a.client.Do(ctx, request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(got.Body, &struct {
		Data any `json:"data"`
	}{data}); err != nil {
		return fmt.Errorf("the service's response to %s %s can't be read: %w", method, path, err)
	}
	return nil
}

func (a *api) close() { a.http.CloseIdleConnections() }

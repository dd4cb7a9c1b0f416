package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// api calls the service as any client would: over HTTP, with a key.
type api struct {
	url    string
	key    string
	client *http.Client
}

func newAPI(url, key string) *api {
	// A proxy from the environment would not know this machine's loopback.
	return &api{url: url, key: key, client: &http.Client{Transport: &http.Transport{Proxy: nil}}}
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

// call makes a call and reads the data of its response, which must be a success.
func (a *api) call(ctx context.Context, method, path, body string, data any) error {
	request, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.key)
	request.Header.Set("Content-Type", "application/json")
	got, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("the service did not respond: %w", err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		return fmt.Errorf("the service's response to %s %s broke off: %w", method, path, err)
	}
	if got.StatusCode/100 != 2 {
		return fmt.Errorf("the service refused %s %s with %s: %s", method, path, got.Status, bytes.TrimSpace(text))
	}
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(text, &struct {
		Data any `json:"data"`
	}{data}); err != nil {
		return fmt.Errorf("the service's response to %s %s is not understood: %w", method, path, err)
	}
	return nil
}

func (a *api) close() { a.client.CloseIdleConnections() }

package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// OperationRequest says what to do with many jobs.
type OperationRequest struct {
	// Action is cancel, rerun, run or reschedule.
	Action string          `json:"action"`
	Filter OperationFilter `json:"filter"`
	// Set has fields that differ in reruns, the new time for reschedule, and "spread".
	Set Edit `json:"set,omitempty"`
	// All permits an empty filter.
	All bool `json:"all,omitempty"`
	// DryRun is set by CountOperation.
	DryRun bool `json:"dry_run,omitempty"`
}

// OperationFilter selects jobs; all of its fields must match.
type OperationFilter struct {
	State      string    `json:"state,omitempty"`
	Tags       []string  `json:"tags,omitempty"`
	ScheduleID string    `json:"schedule_id,omitempty"`
	Host       string    `json:"host,omitempty"`
	Name       string    `json:"name,omitempty"`
	ErrorKind  string    `json:"error_kind,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	Until      time.Time `json:"until,omitzero"`
}

// OperationRecord is an operation and how far it is.
type OperationRecord struct {
	ID     string          `json:"id"`
	Action string          `json:"action"`
	Filter json.RawMessage `json:"filter"`
	Set    json.RawMessage `json:"set"`
	// State is running, finished or stopped.
	State   string `json:"state"`
	Matched int64  `json:"matched"`
	Done    int64  `json:"done"`
	// Skipped counts jobs that could not be changed, by reason.
	Skipped    map[string]int64 `json:"skipped"`
	InsertedAt Time             `json:"inserted_at"`
	FinishedAt *Time            `json:"finished_at"`
}

// StartOperation starts an operation on the jobs that exist now. WaitOperation waits
// for its end.
func (c *Client) StartOperation(ctx context.Context, request OperationRequest) (*OperationRecord, error) {
	request.DryRun = false
	return fetch[OperationRecord](ctx, c, call{method: http.MethodPost, path: "/api/operations", body: request, once: true})
}

// CountOperation returns how many jobs an operation would match, and changes nothing.
func (c *Client) CountOperation(ctx context.Context, request OperationRequest) (int64, error) {
	request.DryRun = true
	record, err := fetch[OperationRecord](ctx, c, call{method: http.MethodPost, path: "/api/operations", body: request})
	if err != nil {
		return 0, err
	}
	return record.Matched, nil
}

// ListOperations iterates over operations, the newest first.
func (c *Client) ListOperations(ctx context.Context) iter.Seq2[OperationRecord, error] {
	return list[OperationRecord](ctx, c, "/api/operations", Page{}.values())
}

// GetOperation returns an operation.
func (c *Client) GetOperation(ctx context.Context, id string) (*OperationRecord, error) {
	return fetch[OperationRecord](ctx, c, call{method: http.MethodGet, path: "/api/operations" + element(id)})
}

// StopOperation stops an operation. What it has done stays.
func (c *Client) StopOperation(ctx context.Context, id string) (*OperationRecord, error) {
	return fetch[OperationRecord](ctx, c, call{method: http.MethodDelete, path: "/api/operations" + element(id)})
}

// WaitOperation returns an operation once it has finished or was stopped. It asks
// again and again, with growing pauses of up to five seconds, until the context ends.
func (c *Client) WaitOperation(ctx context.Context, id string) (*OperationRecord, error) {
	return poll(ctx, func() (*OperationRecord, bool, error) {
		record, err := c.GetOperation(ctx, id)
		return record, err == nil && record.State != "running", err
	})
}

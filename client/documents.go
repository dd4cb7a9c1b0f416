package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Document lists the schedules of an owner.
type Document struct {
	// Owner is empty if each schedule names its own.
	Owner     string             `json:"owner,omitempty"`
	Schedules []DocumentSchedule `json:"schedules"`
	// Prune removes schedules of the owner that are not listed; All permits that for
	// an empty list.
	Prune bool `json:"prune,omitempty"`
	All   bool `json:"all,omitempty"`
	// DryRun says what would change, and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// DocumentSchedule is a schedule with its key. The request has no IdempotencyKey.
type DocumentSchedule struct {
	Key   string  `json:"key"`
	Owner *string `json:"owner,omitempty"`
	JobRequest
}

// ApplyResult says what became of a schedule: created, changed, unchanged or removed.
type ApplyResult struct {
	Key    string   `json:"key"`
	Result string   `json:"result"`
	Diff   []Change `json:"diff"`
}

// Apply makes the schedules of an owner what the document says, all or nothing. The
// ETag is for the next call; with one as condition, schedules that were changed since
// fail the call with status 412.
func (c *Client) Apply(ctx context.Context, document Document, conditions ...Condition) (results []ApplyResult, etag string, err error) {
	got, err := c.do(ctx, call{method: http.MethodPost, path: "/api/apply", body: document, header: condition(conditions)})
	if err != nil {
		return nil, "", err
	}
	value, err := decode[enveloped[[]ApplyResult]](got)
	return value.Data, got.Header.Get("ETag"), err
}

// ExportSchedules returns the document of an owner, of all schedules if empty, byte
// for byte the same while nothing changes.
func (c *Client) ExportSchedules(ctx context.Context, owner string) (json.RawMessage, error) {
	query := url.Values{}
	put(query, "owner", owner)
	got, err := c.do(ctx, call{method: http.MethodGet, path: "/api/export", query: query})
	if err != nil {
		return nil, err
	}
	return got.Body, nil
}

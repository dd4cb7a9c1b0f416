package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
)

// ScheduleRecord is a schedule as it is stored.
type ScheduleRecord struct {
	ID          string  `json:"id"`
	Name        *string `json:"name"`
	Description *string `json:"description"`
	InsertedAt  Time    `json:"inserted_at"`
	// DisabledAt is nil while the schedule is enabled.
	DisabledAt *Time           `json:"disabled_at"`
	UserID     string          `json:"user_id"`
	Frequency  Frequency       `json:"frequency"`
	Args       json.RawMessage `json:"args"`
	// ETag is for IfMatch. Only GetSchedule, EditSchedule and PutSchedule set it.
	ETag string `json:"-"`
}

// ListedSchedule is a schedule in a list.
type ListedSchedule struct {
	ScheduleRecord
	// NextRunAt is when the next run is due, nil while the schedule is disabled. It is
	// set if the filter's NextRunAt is.
	NextRunAt *Time `json:"next_run_at,omitempty"`
}

// Frequency has RepeatEvery or Cron.
type Frequency struct {
	RepeatEvery Duration `json:"repeat_every,omitzero"`
	Cron        string   `json:"cron,omitempty"`
	Timezone    string   `json:"timezone,omitempty"`
}

// ScheduleDetails has what the record of a schedule leaves out.
type ScheduleDetails struct {
	Schedule       ScheduleRecord `json:"schedule"`
	Revision       int64          `json:"revision"`
	NextRunAt      *Time          `json:"next_run_at"`
	Next           []Time         `json:"next"`
	LastRun        *JobRecord     `json:"last_run"`
	FailuresInARow int            `json:"failures_in_a_row"`
	RunsLeft       *int64         `json:"runs_left"`
	Mute           *Mute          `json:"mute"`
}

// UntilRecovered is the Until of a mute that the next success of the schedule ends.
const UntilRecovered = "recovered"

// Mute is why alerts send no failures of a schedule.
type Mute struct {
	// Until is a time as in RFC 3339, UntilRecovered, or nil if only UnmuteSchedule ends
	// the mute.
	Until   *string `json:"until"`
	Note    *string `json:"note"`
	MutedAt Time    `json:"muted_at"`
}

// NewMute is until when a schedule is muted, and why.
type NewMute struct {
	// Until is a time as in RFC 3339 at most a year ahead, UntilRecovered, or nil.
	Until *string `json:"until"`
	Note  *string `json:"note,omitempty"` // up to 500 characters
}

// State is what the runs of a schedule share.
type State struct {
	State    json.RawMessage `json:"state"`
	Previous json.RawMessage `json:"previous"`
}

// SchedulePunctuality is how punctual a schedule was in a month.
type SchedulePunctuality struct {
	ScheduleID string `json:"schedule_id"`
	Month      string `json:"month"` // in UTC, such as 2026-11
	// Complete is false for a short time after an upgrade from a version without reports.
	Complete  bool  `json:"complete"`
	Due       int64 `json:"due"`
	Made      int64 `json:"made"` // attempted at least once
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	// Late is how many runs began more than LateAfterMS after their due time.
	Late           int64            `json:"late"`
	Missed         MissedPoints     `json:"missed"`
	LateAfterMS    int64            `json:"late_after_ms"`
	LatenessMS     LatenessFigures  `json:"lateness_ms"`
	Outages        []ScheduleOutage `json:"outages"` // the longest 20
	OutagesOmitted int64            `json:"outages_omitted"`
}

// MissedPoints is how many points of a schedule's grid had no run of their own, by reason.
type MissedPoints struct {
	Down    int64 `json:"down"`
	Overlap int64 `json:"overlap"`
	Limit   int64 `json:"limit"`
	Expired int64 `json:"expired"`
	Next    int64 `json:"next"` // a response asked for a later time; they were not due
}

// ScheduleOutage is a time without successful runs.
type ScheduleOutage struct {
	Reason string `json:"reason"` // "service" or "target"
	From   Time   `json:"from"`
	To     Time   `json:"to"`
	Runs   int64  `json:"runs"`
}

// ListSchedules iterates over schedules.
func (c *Client) ListSchedules(ctx context.Context, filter ScheduleFilter) iter.Seq2[ListedSchedule, error] {
	return list[ListedSchedule](ctx, c, "/api/schedules", filter.values())
}

// GetSchedule returns a schedule.
func (c *Client) GetSchedule(ctx context.Context, schedule Ref) (*ScheduleRecord, error) {
	record, _, err := c.schedule(ctx, call{method: http.MethodGet, path: schedulePath(schedule)})
	return record, err
}

// GetSchedulePunctuality returns how punctual a schedule was in one of the last 13 months,
// such as 2026-11; "" is the current one.
func (c *Client) GetSchedulePunctuality(ctx context.Context, schedule Ref, month string) (*SchedulePunctuality, error) {
	query := url.Values{}
	if month != "" {
		query.Set("month", month)
	}
	return fetch[SchedulePunctuality](ctx, c, call{method: http.MethodGet, path: schedulePath(schedule) + "/punctuality", query: query})
}

// PutSchedule makes a schedule what the request says, and reports whether it was
// created. Fields that the request doesn't have go back to their defaults. Only a
// Key creates one; the request has no IdempotencyKey.
func (c *Client) PutSchedule(ctx context.Context, schedule Ref, request JobRequest,
	conditions ...Condition) (record *ScheduleRecord, created bool, err error) {
	return c.schedule(ctx, call{method: http.MethodPut, path: schedulePath(schedule), body: request, header: condition(conditions)})
}

// EditSchedule changes a schedule and its pending run.
func (c *Client) EditSchedule(ctx context.Context, schedule Ref, edit Edit, conditions ...Condition) (*ScheduleRecord, error) {
	record, _, err := c.schedule(ctx, call{method: http.MethodPatch, path: schedulePath(schedule), body: edit,
		header: condition(conditions)})
	return record, err
}

// DeleteSchedule deletes a schedule. Its jobs and logs stay.
func (c *Client) DeleteSchedule(ctx context.Context, schedule Ref, conditions ...Condition) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: schedulePath(schedule), header: condition(conditions)})
	return err
}

// EnableSchedule makes a schedule run again.
func (c *Client) EnableSchedule(ctx context.Context, schedule Ref, conditions ...Condition) (*ScheduleRecord, error) {
	record, _, err := c.schedule(ctx, call{method: http.MethodPost, path: schedulePath(schedule) + "/enable",
		header: condition(conditions)})
	return record, err
}

// DisableSchedule cancels the pending run; no further one follows.
func (c *Client) DisableSchedule(ctx context.Context, schedule Ref, conditions ...Condition) (*ScheduleRecord, error) {
	record, _, err := c.schedule(ctx, call{method: http.MethodPost, path: schedulePath(schedule) + "/disable",
		header: condition(conditions)})
	return record, err
}

// MuteSchedule keeps alerts from sending the schedule's failures. The schedule goes on
// running. With UntilRecovered it fails with status 409 unless the schedule is failing.
func (c *Client) MuteSchedule(ctx context.Context, schedule Ref, mute NewMute, conditions ...Condition) (*Mute, error) {
	return fetch[Mute](ctx, c, call{method: http.MethodPut, path: schedulePath(schedule) + "/mute", body: mute,
		header: condition(conditions)})
}

// UnmuteSchedule ends the mute of a schedule, if it has one.
func (c *Client) UnmuteSchedule(ctx context.Context, schedule Ref, conditions ...Condition) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: schedulePath(schedule) + "/mute", header: condition(conditions)})
	return err
}

// RunSchedule makes the pending run now. It fails with status 409 while a run is
// under way.
func (c *Client) RunSchedule(ctx context.Context, schedule Ref) (*JobRecord, error) {
	return c.act(ctx, schedulePath(schedule)+"/run", nil, true)
}

// GetScheduleDetails returns a schedule with its next and last runs.
func (c *Client) GetScheduleDetails(ctx context.Context, schedule Ref) (*ScheduleDetails, error) {
	query := url.Values{"include": {"mute"}}
	return fetch[ScheduleDetails](ctx, c, call{method: http.MethodGet, path: schedulePath(schedule) + "/details", query: query})
}

// ListScheduleRevisions returns the latest 50 edits of a schedule, the latest first.
func (c *Client) ListScheduleRevisions(ctx context.Context, schedule Ref) ([]Revision, error) {
	return c.revisions(ctx, schedulePath(schedule)+"/revisions")
}

// GetState returns a schedule's $state and $previous.
func (c *Client) GetState(ctx context.Context, schedule Ref) (*State, error) {
	return fetch[State](ctx, c, call{method: http.MethodGet, path: schedulePath(schedule) + "/state"})
}

// PutState replaces a schedule's $state with a value that encodes as an object of at
// most 64 KiB.
func (c *Client) PutState(ctx context.Context, schedule Ref, state any, conditions ...Condition) (*State, error) {
	return fetch[State](ctx, c, call{method: http.MethodPut, path: schedulePath(schedule) + "/state", body: state,
		header: condition(conditions)})
}

// DeleteState forgets a schedule's $state and $previous.
func (c *Client) DeleteState(ctx context.Context, schedule Ref) error {
	return c.delete(ctx, schedulePath(schedule)+"/state")
}

func schedulePath(schedule Ref) string { return "/api/schedules" + element(schedule) }

// schedule makes a call that answers with a schedule.
func (c *Client) schedule(ctx context.Context, call call) (record *ScheduleRecord, created bool, err error) {
	got, err := c.do(ctx, call)
	if err != nil {
		return nil, false, err
	}
	value, err := decode[enveloped[ScheduleRecord]](got)
	value.Data.ETag = got.Header.Get("ETag")
	return &value.Data, got.Status == http.StatusCreated, err
}

func (c *Client) delete(ctx context.Context, path string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path})
	return err
}

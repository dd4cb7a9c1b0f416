package client

import (
	"context"
	"net/http"
)

// RehearsalRequest says what to rehearse. The zero value is all stored schedules for a
// year from now.
type RehearsalRequest struct {
	// From is when the rehearsal begins, now if nil; To is when it ends, a year later if
	// nil.
	From    *Time    `json:"from,omitempty"`
	To      *Time    `json:"to,omitempty"`
	Outages []Outage `json:"outages,omitempty"`
	// Fail is the share of attempts that fail, from 0 to 1, and Duration how long attempts
	// take, by the keys of schedules.
	Fail     map[string]float64  `json:"fail,omitempty"`
	Duration map[string]Duration `json:"duration,omitempty"`
	// Keys are those of the schedules to rehearse; nil for all.
	Keys []string `json:"keys,omitempty"`
	// Schedules are rehearsed instead of the stored ones. Owner is that of their document.
	Schedules []DocumentSchedule `json:"schedules,omitempty"`
	Owner     string             `json:"owner,omitempty"`
}

// Outage is a time in which the service is down.
type Outage struct {
	At  Time     `json:"at"`
	For Duration `json:"for"`
}

// Rehearsed is what schedules do between two times.
type Rehearsed struct {
	From      Time                `json:"from"`
	To        Time                `json:"to"`
	Cut       *RehearsalCut       `json:"cut"` // nil if it is complete
	Schedules []RehearsedSchedule `json:"schedules"`
	Busiest   []BusyMinute        `json:"busiest"`
	Findings  []Finding           `json:"findings"`
}

// RehearsalCut says why a rehearsal ends early. It is complete for all schedules up to At.
type RehearsalCut struct {
	At     Time   `json:"at"`
	Reason string `json:"reason"` // runs, work or schedules
}

// RehearsedSchedule is what one schedule does.
type RehearsedSchedule struct {
	Key      *string       `json:"key"`
	ID       *string       `json:"id"` // nil if it is not stored
	Disabled bool          `json:"disabled"`
	Runs     int64         `json:"runs"`
	Failed   int64         `json:"failed"`
	Expired  int64         `json:"expired"`
	Late     int64         `json:"late"`
	Skipped  int64         `json:"skipped"`
	First    []Time        `json:"first"` // up to 20 due times
	Clock    []ClockChange `json:"clock"`
	Overlaps int64         `json:"overlaps"`
	Limited  Limited       `json:"limited"`
	Ends     *ScheduleEnd  `json:"ends"` // nil if it goes on
}

// ClockChange is a change of a zone's clock that skips times of a schedule (gap) or shows
// them twice (double).
type ClockChange struct {
	At   Time   `json:"at"`
	Kind string `json:"kind"`
}

// Limited has the attempts that limits delay.
type Limited struct {
	Count     int64 `json:"count"`
	LongestMS int64 `json:"longest_ms"`
}

// ScheduleEnd is when a schedule ends, and why: ends_at, max_runs or failures.
type ScheduleEnd struct {
	At     Time   `json:"at"`
	Reason string `json:"reason"`
}

// BusyMinute is a minute in which runs start.
type BusyMinute struct {
	At   Time  `json:"at"`
	Runs int64 `json:"runs"`
}

// Finding is something that you may want to change: a code, a sentence and the fix.
type Finding struct {
	Code    string  `json:"code"`
	Key     *string `json:"key"`
	At      *Time   `json:"at"`
	Message string  `json:"message"`
}

// Comparison is how a change would change the runs of schedules in the next year.
type Comparison struct {
	From      Time               `json:"from"`
	To        Time               `json:"to"`
	Cut       *RehearsalCut      `json:"cut"`
	Schedules []ComparedSchedule `json:"schedules"`
	Findings  []Finding          `json:"findings"`
}

// ComparedSchedule is a schedule before and after a change; nil if it does not exist then.
type ComparedSchedule struct {
	Key        *string            `json:"key"`
	Result     string             `json:"result"` // created, changed, unchanged or removed
	Before     *RehearsedSchedule `json:"before"`
	After      *RehearsedSchedule `json:"after"`
	Difference RunDifference      `json:"difference"`
}

// RunDifference is how the due times of runs differ: how many are added, dropped, or
// moved to another time.
type RunDifference struct {
	First   *FirstDifference `json:"first"` // nil if none differs
	Added   int64            `json:"added"`
	Dropped int64            `json:"dropped"`
	Moved   int64            `json:"moved"`
}

// FirstDifference is the first run that differs; a time is nil if there is none.
type FirstDifference struct {
	Before *Time `json:"before"`
	After  *Time `json:"after"`
}

// Rehearse runs schedules under virtual time. Nothing is sent or stored.
func (c *Client) Rehearse(ctx context.Context, request RehearsalRequest) (*Rehearsed, error) {
	return fetch[Rehearsed](ctx, c, call{method: http.MethodPost, path: "/api/rehearse", body: request})
}

// RehearseEdit returns how EditSchedule would change the runs of a schedule.
func (c *Client) RehearseEdit(ctx context.Context, schedule Ref, edit Edit) (*Comparison, error) {
	return fetch[Comparison](ctx, c, call{method: http.MethodPatch, path: schedulePath(schedule), body: edit, header: preferRehearse()})
}

// RehearsePut returns how PutSchedule would change the runs of a schedule.
func (c *Client) RehearsePut(ctx context.Context, schedule Ref, request JobRequest) (*Comparison, error) {
	return fetch[Comparison](ctx, c, call{method: http.MethodPut, path: schedulePath(schedule), body: request, header: preferRehearse()})
}

// RehearseApply returns how Apply would change the runs of the schedules of a document.
func (c *Client) RehearseApply(ctx context.Context, document Document) (*Comparison, error) {
	return fetch[Comparison](ctx, c, call{method: http.MethodPost, path: "/api/apply", body: document, header: preferRehearse()})
}

func preferRehearse() http.Header { return http.Header{"Prefer": {"rehearse"}} }

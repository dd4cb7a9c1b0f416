package mcp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The bounds of a wait. Clients give up on a call after about a minute, and so do
// proxies.
const (
	defaultWait = 25 * time.Second
	longestWait = 50 * time.Second
)

var secondsInput = input{name: "seconds", schema: rawjson.Value(
	`{"type":"number","minimum":1,"maximum":50,"default":25,"description":"How long to wait at most."}`)}

// The pauses between two reads of a job: they grow from the first to the longest, and
// are farPause while a job is not due for longer.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	farPause     = 5 * time.Second
)

// waitForJob waits until a job is final.
func waitForJob(ctx context.Context, s *session, t *tool, a *arguments) (*result, error) {
	path, err := a.path(t.call.path)
	if err != nil {
		return nil, err
	}
	return s.wait(ctx, a, path)
}

// waitForSchedule waits until the pending run of a schedule is final.
func waitForSchedule(ctx context.Context, s *session, t *tool, a *arguments) (*result, error) {
	path, err := a.path(t.call.path)
	if err != nil {
		return nil, err
	}
	schedule, err := s.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	id := rawjson.Text(rawjson.Get(schedule.data, "id"))
	for _, state := range []string{"executing", "scheduled"} {
		runs, err := s.do(ctx, http.MethodGet, "/api/jobs", "limit=1&state="+state+"&schedule_id="+url.QueryEscape(id), nil)
		if err != nil {
			return nil, err
		}
		for _, run := range rawjson.Elements(runs.data) {
			return s.wait(ctx, a, strings.Replace(jobPath, "{job_id}", string(rawjson.Get(run, "job_id")), 1))
		}
	}
	r := &result{data: schedule.data, next: "The schedule has no pending run, so there is nothing to wait for. why says whether it is paused or has ended."}
	r.fact("final", rawjson.Value("false"))
	return r, nil
}

// wait reads a job until it is final.
func (s *session) wait(ctx context.Context, a *arguments, path string) (*result, error) {
	within, err := waitOf(a)
	if err != nil {
		return nil, err
	}
	leave, ok := s.waits.try(s.account)
	if !ok {
		return nil, complain("too many waits are under way; an account has %d at once on a node, and a node %d. Wait for one job after the other", accountWaits, allWaits)
	}
	defer leave()
	over := time.NewTimer(within)
	defer over.Stop()
	var last *result
	for pause, ended := firstPause, false; ; pause = min(pause*3/2, longestPause) {
		wait := pause
		got, err := s.do(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			if wait = againIn(err); wait == 0 || ended && last == nil {
				return nil, err
			}
		} else {
			last = &result{data: got.data}
			// A key may name another job later.
			path = strings.Replace(jobPath, "{job_id}", last.text("job_id"), 1)
			if due, err := time.Parse(time.RFC3339Nano, last.text("job", "scheduled_at")); err == nil {
				wait = max(wait, min(time.Until(due), farPause))
			}
		}
		if final := last != nil && isFinal(last.text("job", "state")); final || ended {
			return waited(last, final), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over.C: // the job is read once more
			ended = true
		case <-s.stopping:
			ended = true
		case <-time.After(wait):
		}
	}
}

// againIn returns how long to wait before a read that was refused is repeated; 0 if it
// would be refused again.
func againIn(err error) time.Duration {
	var busy *refusal
	if errors.As(err, &busy) && (busy.Status == http.StatusTooManyRequests || busy.Status == http.StatusServiceUnavailable) {
		return max(longestPause, time.Duration(busy.retryAfter)*time.Second)
	}
	return 0
}

// waitOf returns how long a call waits.
func waitOf(a *arguments) (time.Duration, error) {
	text, err := a.text(secondsInput.name)
	if err != nil || text == "" {
		return defaultWait, err
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 1 && seconds <= longestWait.Seconds()) {
		return 0, complain("seconds must be a number from 1 to %g; call the tool again to go on waiting", longestWait.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func isFinal(state string) bool {
	return state == "completed" || state == "discarded" || state == "cancelled"
}

func waited(r *result, final bool) *result {
	r.fact("final", rawjson.Value(strconv.FormatBool(final)))
	if r.next = afterJob(nil, r); !final {
		r.next = "Job " + r.text("job_id") + " is " + r.text("job", "state") +
			" and not final yet. Call wait_for_job with it to go on waiting, or do something else meanwhile."
	}
	return r
}

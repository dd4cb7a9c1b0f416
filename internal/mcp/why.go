package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/why"
)

var (
	eitherJob      = input{name: "job_id", schema: ids["job_id"]}
	eitherSchedule = input{name: "schedule_id", schema: ids["schedule_id"]}
)

// after says how to do what an explanation suggests.
var after = map[why.Action]string{
	why.Wait:     "wait_for_job waits until it is final.",
	why.Edit:     "edit_job changes it.",
	why.Rerun:    "rerun_job creates it anew, with other fields if you give some.",
	why.Enable:   "resume_schedule enables it, and edit_schedule changes it.",
	why.Rehearse: "rehearse shows what it will do.",
	why.Runs:     "list_jobs with its schedule_id has its runs.",
	why.LastRun:  "Call why with job_id %d, its last run, to see how it failed.",
}

// words write an explanation. Names are ones that people chose, so the text has none of
// them; data has.
func words() why.Words {
	return why.Words{Moment: job.FormatTime, Now: time.Now()}
}

// tell puts an explanation into a result.
func (r *result) tell(e why.Explanation, lastRun int64) {
	parts := []string{e.Remedy}
	for _, action := range e.Then {
		text := after[action]
		if action == why.LastRun {
			text = fmt.Sprintf(text, lastRun)
		}
		parts = append(parts, text)
	}
	r.next = strings.TrimSpace(strings.Join(parts, " "))
	r.fact("because", rawjson.Quote(e.Because))
}

// explain explains a job or a schedule.
func explain(ctx context.Context, s *session, _ *tool, a *arguments) (*result, error) {
	if (a.get("job_id") == nil) == (a.get("schedule_id") == nil) {
		return nil, complain("give either job_id or schedule_id")
	}
	if a.get("job_id") != nil {
		return explainJob(ctx, s, a)
	}
	return explainSchedule(ctx, s, a)
}

// shownLogs is how many log entries an explanation has: the last attempts.
const shownLogs = 6

func explainJob(ctx context.Context, s *session, a *arguments) (*result, error) {
	path, err := a.path(jobPath + "/details")
	if err != nil {
		return nil, err
	}
	details, err := s.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	j, err := why.ReadJob(details.data, func(path string) ([]byte, error) {
		got, err := s.do(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			return nil, err
		}
		return got.data, nil
	})
	if err != nil {
		return nil, err
	}
	number := strconv.FormatInt(j.Number, 10)
	logs, err := s.do(ctx, http.MethodGet, "/api/logs", "job_id="+number+"&limit="+strconv.Itoa(shownLogs), nil)
	if err != nil {
		return nil, err
	}
	r := &result{data: rawjson.Object(append(rawjson.Members(details.data), rawjson.Member{Name: "logs", Value: logs.data}))}
	r.tell(j.Explain(words()), 0)
	return r, nil
}

func explainSchedule(ctx context.Context, s *session, a *arguments) (*result, error) {
	path, err := a.path(schedulePath + "/details")
	if err != nil {
		return nil, err
	}
	details, err := s.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	schedule, err := why.ReadSchedule(details.data)
	if err != nil {
		return nil, err
	}
	r := &result{data: details.data}
	r.tell(schedule.Explain(words()), schedule.LastRun)
	return r, nil
}

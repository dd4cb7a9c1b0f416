package qstash

import (
	"context"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// create returns the body of the request that creates or replaces a schedule.
func (m *message) schedule(callerIP string) rawjson.Value {
	f := fields{make(rawjson.Fields, 0, 16)}
	m.to.add(&f)
	m.describe(&f, callerIP)
	expression, zone, zoned := m.Cron, "", false
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if rest, ok := strings.CutPrefix(m.Cron, prefix); ok {
			zone, expression, _ = strings.Cut(rest, " ")
			zoned = true
			break
		}
	}
	f.Text("cron", expression)
	if zoned {
		f.Text("timezone", zone)
	}
	if m.Delay > 0 {
		f.Seconds("offset", m.Delay)
	}
	return f.Object()
}

// isName reports whether a text can be the id of a schedule, or the name of a queue or a
// group.
func isName(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return text != "" && len(text) <= 255 && strings.Trim(text, letters+"-._") == ""
}

// storeSchedule creates a schedule, or replaces the one with its id.
func (c *call) storeSchedule(m *message) error {
	if m.ScheduleID != "" && !isName(m.ScheduleID) {
		return bad("invalid schedule id: it may contain alphanumeric characters, hyphens, periods and underscores only")
	}
	if m.to.group != "" {
		if _, err := c.topic(c.Request.Context(), m.to.group); err != nil {
			return err
		}
	}
	if err := c.define(m.Options); err != nil {
		return err
	}
	ctx, body := c.Request.Context(), m.schedule(c.callerIP())
	if m.ScheduleID == "" {
		j, _, err := c.api.Service.Create(ctx, c.Owner, body, nil)
		if err != nil {
			return err
		}
		return c.stored(lifecycle.ScheduleID(j.ScheduleID, nil))
	}
	found, err := c.byID(ctx, m.ScheduleID)
	switch {
	case err == nil:
		_, err = c.api.Service.ReplaceSchedule(ctx, c.Owner, found.ID, body, service.Match{})
	case fault.CodeOf(err) == fault.NotFound:
		_, err = c.api.Service.PutSchedule(ctx, c.Owner, m.ScheduleID, body, service.Match{})
	}
	if err != nil {
		return err
	}
	return c.stored(m.ScheduleID)
}

func (c *call) stored(id string) error {
	return c.write(struct {
		ScheduleID string `json:"scheduleId"`
	}{id})
}

// byID returns the schedule of an id that the service has given.
func (c *call) byID(ctx context.Context, id string) (*job.Schedule, error) {
	ref, ok := idOf(id, schedulePrefix)
	if !ok {
		return nil, noSchedule(id)
	}
	return c.api.Service.Schedule(ctx, c.Owner, ref.UUID)
}

// findSchedule returns the schedule with an id, of clients or of the service.
func (c *call) findSchedule(ctx context.Context, id string) (*job.Schedule, error) {
	found, err := c.byID(ctx, id)
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		found, err = c.api.Service.ScheduleHolding(ctx, c.Owner, id)
	}
	if err != nil && fault.CodeOf(err) == fault.NotFound || err == nil && job.DialectIn(found.Args, job.DialectQStash) == nil {
		return nil, noSchedule(id)
	}
	return found, err
}

func noSchedule(id string) error { return fault.New(fault.NotFound, "schedule "+id+" not found") }

// postSchedule creates a schedule, or pauses or resumes one.
func (c *call) postSchedule() error {
	if what := c.values[0]; strings.HasSuffix(what, "/pause") || strings.HasSuffix(what, "/resume") {
		if to, err := readDestination(what); err != nil || to.url == "" {
			return c.patchSchedule()
		}
	}
	m, err := c.read(c.values[0])
	if err != nil {
		return err
	}
	if m.Cron == "" {
		return bad("the header Upstash-Cron is missing; it has a cron expression, as in */5 * * * *")
	}
	return c.storeSchedule(m)
}

// patchSchedule pauses or resumes a schedule.
func (c *call) patchSchedule() error {
	id, what, _ := strings.Cut(c.values[0], "/")
	ctx := c.Request.Context()
	if what != "pause" && what != "resume" {
		return fault.New(fault.NotFound, "there is no such call of a schedule")
	}
	found, err := c.findSchedule(ctx, unescaped(id))
	if err != nil {
		return err
	}
	if what == "pause" {
		_, err = c.api.Service.Disable(ctx, c.Owner, found.ID, service.Match{})
	} else {
		_, err = c.api.Service.Enable(ctx, c.Owner, found.ID, service.Match{})
	}
	if err != nil {
		return err
	}
	return c.done()
}

// scheduleID returns the id of the schedule that a path names.
func (c *call) scheduleID() string {
	id, _, _ := strings.Cut(c.values[0], "?")
	return unescaped(id)
}

func (c *call) deleteSchedule() error {
	ctx := c.Request.Context()
	found, err := c.findSchedule(ctx, c.scheduleID())
	if err == nil {
		err = c.api.Service.Delete(ctx, c.Owner, found.ID, service.Match{})
	}
	if err != nil {
		return err
	}
	return c.done()
}

// shownSchedule is a schedule as clients see it.
type shownSchedule struct {
	ScheduleID  string `json:"scheduleId"`
	Cron        string `json:"cron"`
	Destination string `json:"destination"`
	CreatedAt   int64  `json:"createdAt"`
	record
	Retries    int               `json:"retries"`
	Delay      int64             `json:"delay,omitempty"`
	Paused     bool              `json:"isPaused"`
	LastTime   int64             `json:"lastScheduleTime,omitempty"`
	NextTime   int64             `json:"nextScheduleTime,omitempty"`
	LastStates map[string]string `json:"lastScheduleStates,omitempty"`
}

func (c *call) getSchedule() error {
	ctx := c.Request.Context()
	found, err := c.findSchedule(ctx, c.scheduleID())
	if err != nil {
		return err
	}
	shown, err := c.showSchedules(ctx, []*job.Schedule{found})
	if err != nil {
		return err
	}
	return c.write(shown[0])
}

// maxSchedules is how many schedules a list has.
const maxSchedules = 1000

func (c *call) listSchedules() error {
	ctx := c.Request.Context()
	shown := []shownSchedule{}
	q := job.ScheduleQuery{ListQuery: job.ListQuery{Limit: page}}
	for len(shown) < maxSchedules {
		found, err := c.api.Service.Schedules(ctx, c.Owner, q)
		if err != nil {
			return err
		}
		var own []*job.Schedule
		for _, s := range found.Items {
			if job.DialectIn(s.Args, job.DialectQStash) != nil {
				own = append(own, s)
			}
		}
		some, err := c.showSchedules(ctx, own)
		if err != nil {
			return err
		}
		shown = append(shown, some...)
		if found.Next == nil {
			break
		}
		q.ListQuery = *found.Next
	}
	return c.write(shown)
}

// latestRuns is how many runs of a schedule are read to show the latest.
const latestRuns = 2

func (c *call) showSchedules(ctx context.Context, schedules []*job.Schedule) ([]shownSchedule, error) {
	if len(schedules) == 0 {
		return nil, nil
	}
	next, err := c.api.Service.NextRuns(ctx, c.Owner, schedules)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(schedules))
	for i, s := range schedules {
		ids[i] = s.ID
	}
	runs, err := c.api.Service.Runs(ctx, c.Owner, ids, latestRuns)
	if err != nil {
		return nil, err
	}
	latest := map[uuid.UUID]*job.RunSummary{}
	var numbers []int64
	for _, id := range ids {
		for i := range runs[id] {
			if run := &runs[id][i]; !run.AttemptedAt.IsZero() {
				latest[id], numbers = run, append(numbers, run.Number)
				break
			}
		}
	}
	messages, err := c.api.Service.JobIDs(ctx, c.Owner, numbers)
	if err != nil {
		return nil, err
	}
	limits := c.limitReader()
	shown := make([]shownSchedule, len(schedules))
	for i, s := range schedules {
		if shown[i], err = limits.schedule(ctx, s); err != nil {
			return nil, err
		}
		if !next[i].IsZero() {
			shown[i].NextTime = next[i].UnixMilli()
		}
		if run := latest[s.ID]; run != nil {
			shown[i].LastTime = run.ScheduledAt.UnixMilli()
			shown[i].LastStates = map[string]string{lifecycle.MessageID(messages[run.Number]): runState(run.State)}
		}
	}
	return shown, nil
}

func runState(s job.State) string {
	switch s {
	case job.Completed:
		return "SUCCESS"
	case job.Discarded, job.Cancelled:
		return "FAIL"
	}
	return "IN_PROGRESS"
}

func (l *limitReader) schedule(ctx context.Context, s *job.Schedule) (shownSchedule, error) {
	spec := job.ReadSpec(s.Args)
	r, err := l.record(ctx, &spec)
	cron := spec.Cron
	if spec.Timezone != "" {
		cron = "CRON_TZ=" + spec.Timezone + " " + cron
	}
	to := spec.URL
	if r.TopicName != "" {
		to = r.TopicName
	}
	return shownSchedule{
		ScheduleID: lifecycle.ScheduleID(s.ID, s.Key), Cron: cron, Destination: to, CreatedAt: s.InsertedAt.UnixMilli(), record: r,
		Retries: spec.Retries, Delay: int64(spec.Offset.Seconds()), Paused: !s.Live(),
	}, err
}

// unescaped returns a step of a path decoded, or as it is if it can't be.
func unescaped(step string) string {
	text, err := url.PathUnescape(step)
	if err != nil {
		return step
	}
	return text
}

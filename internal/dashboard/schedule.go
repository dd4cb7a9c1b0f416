package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// plottedRuns is how many runs the plots of a schedule go back.
	plottedRuns = 60
	// runsShown is how many runs a page lists.
	runsShown = 12
)

// scheduleDetail is what the page of a schedule shows.
type scheduleDetail struct {
	scheduleRow
	listed      []store.RunSummary // the runs of the list, newest first
	older       string
	newest      string
	now         time.Time
	notice      string
	part        string // the address of a live part, but for its name
	form        url.Values
	problems    map[string]string // by field of the form that was refused
	editing     bool
	stateText   string
	stateWhy    string
	stateIsOpen bool
}

// self gives the address of a live part.
func (d *scheduleDetail) self(part string) string { return d.part + part }

func (s *Server) schedule(c *call) error {
	d, err := s.readSchedule(c)
	if err != nil {
		return err
	}
	switch c.part() {
	case "head":
		return c.render(http.StatusOK, scheduleHead(d))
	case "runs":
		return c.render(http.StatusOK, scheduleRuns(d))
	case "state":
		return c.render(http.StatusOK, scheduleState(d))
	}
	return c.render(http.StatusOK, schedulePage(d))
}

func (s *Server) readSchedule(c *call) (*scheduleDetail, error) {
	ctx := c.r.Context()
	id, err := c.scheduleID()
	if err != nil {
		return nil, err
	}
	found, err := s.Store.ScheduleGet(ctx, c.owner(), id)
	if err != nil {
		return nil, err
	}
	runs, err := s.Store.ScheduleRuns(ctx, c.owner(), []uuid.UUID{id}, plottedRuns+1)
	if err != nil {
		return nil, err
	}
	d := &scheduleDetail{scheduleRow: scheduleRow{found, job.ReadSpec(found.Args), runs[id]}, now: s.Store.Now(), notice: c.notice(), form: url.Values{}}
	d.part = c.href("/schedules/%s?part=", id)
	d.form.Set("when", frequencyText(&d.spec))
	d.form.Set("zone", zoneOf(&d.spec))
	d.form.Set("name", deref(found.Name))
	d.form.Set("description", deref(found.Description))
	if text := stateText(found); len(html.EscapeString(text)) <= maxEdited {
		d.stateText = text
	}
	return d, s.listRuns(c, d)
}

// listRuns reads the runs that are listed: the newest, or those before one.
func (s *Server) listRuns(c *call, d *scheduleDetail) error {
	before, _ := strconv.ParseInt(c.param("before"), 10, 64) // nonsense is the first page
	more := len(d.runs) > runsShown
	if before <= 0 {
		d.listed = d.runs[:min(runsShown, len(d.runs))]
	} else {
		d.newest = c.here("before", "")
		query := store.JobQuery{Schedule: d.ID, ListQuery: store.ListQuery{Limit: runsShown + 1, After: before}}
		jobs, err := s.Store.JobList(c.r.Context(), c.owner(), query)
		if err != nil {
			return err
		}
		jobs, more = store.Fit(jobs, runsShown, query.Budget(), store.JobSize)
		for _, j := range jobs {
			d.listed = append(d.listed, glanceOf(j))
		}
	}
	if more {
		d.older = c.href("/schedules/%s?before=%d", d.ID, d.listed[len(d.listed)-1].Number)
	}
	return nil
}

func glanceOf(j *job.Job) store.RunSummary {
	g := store.RunSummary{Number: j.Number, State: j.State, ScheduledAt: j.ScheduledAt, DueAt: j.DueAt, StartedAt: j.AttemptedAt, AttemptedAt: j.AttemptedAt}
	for _, end := range []time.Time{j.CompletedAt, j.CancelledAt, j.DiscardedAt} {
		if !end.IsZero() {
			g.EndedAt = end
		}
	}
	return g
}

// lateness tells how late a run began; false when it has not, or when its
// schedule was made to begin in the past.
func (d *scheduleDetail) lateness(g *store.RunSummary) (time.Duration, bool) {
	if g.StartedAt.IsZero() || g.ScheduledAt.Before(d.InsertedAt.Truncate(time.Second)) {
		return 0, false
	}
	return max(0, g.StartedAt.Sub(g.ScheduledAt)), true
}

// plots show how late the last runs began and how long they took.
func (d *scheduleDetail) plots() []ui.Plot {
	runs := d.ended()
	runs = runs[:min(plottedRuns, len(runs))]
	late, took := make([]float64, len(runs)), make([]float64, len(runs))
	for i := range runs {
		place := len(runs) - 1 - i
		late[place], took[place] = math.NaN(), math.NaN()
		if l, ok := d.lateness(&runs[i]); ok {
			late[place] = millis(l)
		}
		if t, ok := duration(&runs[i]); ok {
			took[place] = millis(t)
		}
	}
	from, to := "", "latest run"
	if len(runs) > 1 {
		from = ui.Plural(len(runs)-1, "run before", "runs before")
	}
	return []ui.Plot{
		{ID: "late", Title: "Lateness", Unit: "ms", From: from, To: to, Series: []ui.Series{{Name: "lateness", Values: late}}, Summary: spread(late, "the runs began", "late")},
		{ID: "took", Title: "Duration", Unit: "ms", From: from, To: to, Series: []ui.Series{{Name: "duration", Values: took}}, Summary: spread(took, "their last attempts took", "")},
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// spread says in words what lies in values of milliseconds.
func spread(values []float64, what, after string) string {
	n, least, most, last := 0, math.Inf(1), math.Inf(-1), math.NaN()
	for _, v := range values {
		if !math.IsNaN(v) {
			n, least, most, last = n+1, min(least, v), max(most, v), v
		}
	}
	if n == 0 {
		return "nothing to show yet."
	}
	if after != "" {
		after = " " + after
	}
	return fmt.Sprintf("of %s, %s %s to %s%s; the latest %s.", ui.Plural(n, "run", "runs"), what, ms(least), ms(most), after, ms(last))
}

func ms(v float64) string { return ui.Millis(time.Duration(v * float64(time.Millisecond))) }

// frequencyText writes a frequency as the form reads it.
func frequencyText(spec *job.Spec) string {
	if spec.Cron != "" {
		return spec.Cron
	}
	amount, unit := spec.RepeatEvery, "second"
	if pair := rawjson.Elements(spec.RepeatEvery); len(pair) == 2 {
		amount, unit = pair[0], strings.TrimSuffix(strings.ToLower(rawjson.Text(pair[1])), "s")
	}
	if string(amount) != "1" {
		unit += "s"
	}
	return "every " + string(amount) + " " + unit
}

func zoneOf(spec *job.Spec) string {
	if spec.Timezone == "" {
		return "UTC"
	}
	return spec.Timezone
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// editSchedule changes name, description and frequency: what was typed.
func (s *Server) editSchedule(c *call) error {
	d, err := s.readSchedule(c)
	if err != nil {
		return err
	}
	before := d.form
	d.form, d.problems, d.editing = c.r.PostForm, map[string]string{}, true
	var members []rawjson.Member
	for _, name := range editedTexts {
		members = append(members, rawjson.Member{Name: name, Value: valueOrNull(job.FieldNamed(name), d.form.Get(name))})
	}
	if d.form.Get("when") != before.Get("when") || d.form.Get("zone") != before.Get("zone") {
		timing, why := readWhen(d.form.Get("when"), d.form.Get("zone"), d.now)
		switch {
		case why != "":
			d.problems["when"] = why
		case timing.Every == nil && timing.Cron == "":
			d.problems["when"] = "must recur, as in “every 5 minutes” or “every weekday at 9:00”"
		case timing.In != nil || !timing.At.IsZero():
			d.problems["when"] = "can't say when to start: the schedule is under way"
		}
		members = append(members, timing.Members()...)
	}
	if len(d.problems) == 0 {
		_, err = s.Manager.Edit(c.r.Context(), c.owner(), d.ID, rawjson.Object(members))
		if err == nil {
			return c.redirect("/schedules/%s?done=edited", d.ID)
		}
		if fault.CodeOf(err) != fault.Invalid {
			return err
		}
		for _, name := range editedTexts {
			d.problems[name] = problemAt(err, "#/"+name)
		}
		d.problems["when"] = timingProblem(err)
	}
	return c.render(http.StatusUnprocessableEntity, schedulePage(d))
}

// editedTexts are the fields that have inputs of their own in the form.
var editedTexts = []string{"name", "description"}

// input returns the input of a field.
func (d *scheduleDetail) input(name string) ui.Input {
	return fieldInput(job.FieldNamed(name), d.form.Get(name), d.problems[name])
}

// valueOrNull returns the value of an input, or null if it is empty.
func valueOrNull(field *job.Field, text string) rawjson.Value {
	if v := field.Value(text); v != nil {
		return v
	}
	return rawjson.Value(`null`)
}

// stateText writes a schedule's $state for its editor.
func stateText(s *job.Schedule) string {
	if s.State == nil {
		return "{}"
	}
	return ui.Pretty(s.State)
}

// stateMark tells one $state from another, so that a form does not undo what a
// run has set since it was opened.
func stateMark(s *job.Schedule) string {
	sum := sha256.Sum256(s.State)
	return hex.EncodeToString(sum[:8])
}

// maxEdited is how large a $state may be, as text of a page, to be edited there.
const maxEdited = 24 << 10

// rawState shows a schedule's $state, or its $previous, whole.
func (s *Server) rawState(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	found, err := s.Store.ScheduleGet(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	text := stateText(found)
	if c.param("of") == "previous" {
		text = ui.Pretty(found.Previous)
	}
	c.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.Write([]byte(text)) // a browser that went away needs no answer
	return nil
}

func (s *Server) saveState(c *call) error {
	d, err := s.readSchedule(c)
	if err != nil {
		return err
	}
	d.stateText, d.stateIsOpen = c.r.PostForm.Get("state"), true
	body, err := rawjson.Read([]byte(d.stateText))
	switch {
	case err != nil:
		d.stateWhy = "is not readable as JSON: " + err.Error()
	case c.r.PostForm.Get("was") != stateMark(d.Schedule):
		d.stateWhy = "was changed by a run meanwhile: it is above as it is now. Save again to put this in its place."
	default:
		_, err = s.Manager.SetState(c.r.Context(), c.owner(), d.ID, body)
		if err == nil {
			return c.redirect("/schedules/%s?done=state", d.ID)
		}
		if fault.CodeOf(err) != fault.Invalid {
			return err
		}
		d.stateWhy = problemAt(err, "#")
	}
	return c.render(http.StatusUnprocessableEntity, schedulePage(d))
}

func (s *Server) clearState(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if _, err := s.Manager.ClearState(c.r.Context(), c.owner(), id); err != nil {
		return err
	}
	return c.redirect("/schedules/%s?done=cleared", id)
}

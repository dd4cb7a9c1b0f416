package dashboard

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
)

// The cookie with what the previous action did and to what, so that the next page can
// offer to revert it. An address could be made up by another site.
const (
	undoCookie = "punctual-undo"
	undoLasts  = time.Minute
)

// rememberUndo remembers an action, by the word of its notice, with what it concerned.
// The texts must fit into a cookie, without spaces.
func (c *call) rememberUndo(done string, about ...string) {
	c.setCookie(undoCookie, done+undoSeparator+strings.Join(about, undoSeparator), undoLasts)
}

// undoSeparator is neither in ids nor in times nor in escaped keys.
const undoSeparator = "|"

// takeUndo returns what the previous action concerned, if that is the one that the
// page's notice is about, and forgets it; nil otherwise.
func (c *call) takeUndo() []string {
	text := c.cookie(undoCookie)
	if text == "" || c.param("done") == "" || c.part() != "" {
		return nil
	}
	c.setCookie(undoCookie, "", 0)
	parts := strings.Split(text, undoSeparator)
	if parts[0] != c.param("done") {
		return nil
	}
	return parts[1:]
}

// offerUndo makes the page's notice offer to revert the previous action.
func (c *call) offerUndo(action string, fields ...[2]string) {
	ui.From(c.r.Context()).Undo = &ui.Undo{Label: "Undo", Action: action, Fields: fields}
}

// undoPause offers to revert that a schedule was paused, resumed or muted.
func (c *call) undoPause() {
	action := map[string]string{"enabled": "disable", "disabled": "enable", "muted": "unmute", "acknowledged": "unmute"}[c.param("done")]
	about := c.takeUndo()
	if action == "" || len(about) != 1 {
		return
	}
	id, ok := job.ParseID(about[0])
	if !ok || id == uuid.Nil {
		return
	}
	var fields [][2]string
	switch {
	case c.r.PathValue("schedule_id") != "":
	case strings.HasSuffix(c.r.URL.Path, "/schedules"):
		fields = append(fields, [2]string{"from", "list"})
	default:
		fields = append(fields, [2]string{"from", "overview"})
	}
	c.offerUndo(c.href("/schedules/%s/%s", id, action), fields...)
}

// undoLimitPause offers to revert that a limit was paused or resumed.
func (c *call) undoLimitPause(key string) {
	action := map[string]string{"limitpaused": "resume", "limitresumed": "pause"}[c.param("done")]
	about := c.takeUndo()
	if action != "" && len(about) == 1 && about[0] == url.QueryEscape(key) {
		c.offerUndo("/limits/" + url.PathEscape(key) + "/" + action)
	}
}

// rememberLimit remembers the definition of a limit that an action replaces or deletes.
func (c *call) rememberLimit(done string, was limit.Record) {
	c.rememberUndo(done, url.QueryEscape(limitValues(was).Encode()))
}

// undoLimitEdit offers to define a limit again as it was before it was replaced or
// deleted.
func (c *call) undoLimitEdit() {
	about := c.takeUndo()
	if done := c.param("done"); done != "limitchanged" && done != "limitdeleted" || len(about) != 1 {
		return
	}
	text, err := url.QueryUnescape(about[0])
	values, err2 := url.ParseQuery(text)
	if _, valid := job.LimitKey(values.Get("key")); err != nil || err2 != nil || !valid {
		return
	}
	var fields [][2]string
	for _, name := range []string{"key", "calls", "per", "parallel", "ordered", "paused"} {
		if v := values.Get(name); v != "" {
			fields = append(fields, [2]string{name, v})
		}
	}
	c.offerUndo("/limits", fields...)
}

// rememberCancelled remembers a job that was cancelled, if an equal one can be created:
// it was to run once, later, had not begun, and held no idempotency key.
func (c *call) rememberCancelled(was, j *job.Job) {
	if was.State == job.Available && j.State == job.Cancelled && was.AttemptedAt.IsZero() && was.ScheduleID == uuid.Nil && was.Key == nil {
		c.rememberUndo("cancelled", strconv.FormatInt(j.Number, 10), job.FormatTime(was.ScheduledAt))
	}
}

// undoCancel offers to create a cancelled job again, if its time is still to come. The
// new job has another number, so the offer is not called Undo.
func (c *call) undoCancel(j *job.Job) {
	if c.param("done") != "cancelled" {
		return
	}
	about := c.takeUndo()
	if len(about) != 2 || about[0] != strconv.FormatInt(j.Number, 10) || j.State != job.Cancelled {
		return
	}
	was, err := time.Parse(time.RFC3339, about[1])
	if err != nil || !was.After(c.server.Service.Now()) {
		return
	}
	c.offerUndo(c.href("/jobs/%d/rerun", j.Number), [2]string{"at", about[1]})
	ui.From(c.r.Context()).Undo.Label = "Create again"
}

// undoReschedule offers to give a job its earlier due time again, if that is still to
// come.
func (c *call) undoReschedule(j *job.Job) {
	about := c.takeUndo()
	if len(about) != 2 || about[0] != strconv.FormatInt(j.Number, 10) || j.State != job.Available {
		return
	}
	was, err := time.Parse(time.RFC3339, about[1])
	if err != nil || !was.After(c.server.Service.Now()) {
		return
	}
	c.offerUndo(c.href("/jobs/%d/when", j.Number), [2]string{"when", job.FormatTime(was)}, [2]string{"zone", "UTC"})
}

package httpapi

import (
	"crypto/hmac"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// Bounds of a run with its steps: how many are shown, and how many are read at once.
const (
	runSteps     = 1000
	runStepsRead = 100
)

func (s *Server) listRuns(c *call) error {
	q := c.query()
	most := q.whole("limit", 1, maxLimit, defaultLimit)
	state, hasState := q.One("state")
	if hasState && workflow.StateNamed(state) == 0 {
		q.Refuse("state", "must be one of "+strings.Join(workflow.StateNames(), ", "))
	}
	label, _ := q.One("label")
	var after service.RunCursor
	if text, ok := q.One("cursor"); ok {
		if after, ok = openRunCursor(text, c.owner); !ok {
			q.Refuse("cursor", "is not a cursor of this list; start again without it")
		}
	}
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	now := s.Service.Now()
	selection := workflow.Selection{State: workflow.StateNamed(state), Label: label, Now: now}
	found, next, err := s.Service.FindRuns(c.r.Context(), c.owner, after, most, selection.Has)
	if err != nil {
		return err
	}
	if next != nil {
		values := c.r.URL.Query()
		values.Set("limit", strconv.Itoa(most))
		values.Set("cursor", sealRunCursor(*next, c.owner))
		c.link(values)
	}
	return writeList(c, found, func(b []byte, r *workflow.Run) []byte { return append(appendRun(b, r, now), '}') })
}

func (s *Server) getRun(c *call) error {
	run, err := s.Service.Run(c.r.Context(), c.owner, c.r.PathValue("run_id"))
	if err != nil {
		return err
	}
	return s.writeRun(c, run)
}

func (s *Server) cancelRun(c *call) error {
	id := c.r.PathValue("run_id")
	if _, err := s.Service.CancelRun(c.r.Context(), c.owner, id); err != nil {
		return err
	}
	run, err := s.Service.Run(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return s.writeRun(c, run)
}

// writeRun responds with a run and its first steps.
func (s *Server) writeRun(c *call, run *workflow.Run) error {
	var steps []*workflow.Step
	for from := 0; len(steps) < runSteps; {
		page, err := s.Service.RunSteps(c.r.Context(), c.owner, run.ID, from, min(runStepsRead, runSteps-len(steps)), workflow.NoBodies)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, step := range page {
			from = step.Position + 1
		}
		steps = append(steps, page...)
	}
	now := s.Service.Now()
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = appendRun(b, run, now)
		return append(appendEach(append(b, `,"steps":`...), steps, appendStep), '}')
	})
}

// appendRun appends a run without its closing brace.
func appendRun(b []byte, r *workflow.Run, now time.Time) []byte {
	b = rawjson.AppendText(append(b, `{"id":`...), r.ID)
	b = rawjson.AppendText(append(b, `,"url":`...), r.URL)
	b = rawjson.AppendText(append(b, `,"state":`...), r.Shown(now).String())
	b = appendEach(append(b, `,"labels":`...), r.LabelList(), rawjson.AppendText)
	b = appendInstant(append(b, `,"inserted_at":`...), r.CreatedAt)
	b = appendInstant(append(b, `,"ended_at":`...), r.EndedAt)
	b = appendTextOrNull(append(b, `,"error":`...), r.Error)
	b = appendUUID(append(b, `,"failed_job":`...), r.FailedJob)
	b = appendTextOrNull(append(b, `,"invoked_by":`...), rawjson.Text(rawjson.Get(r.Invoker, "run")))
	b = appendTextOrNull(append(b, `,"repeats":`...), r.Origin)
	return strconv.AppendInt(append(b, `,"records":`...), int64(r.Rows), 10)
}

// stepKinds are the kinds of steps as clients see them.
var stepKinds = map[workflow.Kind]string{
	workflow.Initial: "payload", workflow.Plan: "plan", workflow.Result: "result", workflow.Call: "call",
	workflow.Wait: "wait", workflow.Invoke: "invoke", workflow.Notice: "event",
}

func appendStep(b []byte, s *workflow.Step) []byte {
	b = strconv.AppendInt(append(b, `{"step":`...), int64(s.Number), 10)
	b = rawjson.AppendText(append(b, `,"kind":`...), stepKinds[s.Kind])
	b = rawjson.AppendText(append(b, `,"name":`...), s.Name)
	b = rawjson.AppendText(append(b, `,"type":`...), s.Type)
	b = strconv.AppendInt(append(b, `,"concurrent":`...), int64(s.Concurrent), 10)
	b = appendInstant(append(b, `,"inserted_at":`...), s.CreatedAt)
	b = appendInstant(append(b, `,"due_at":`...), s.DueAt)
	b = strconv.AppendBool(append(b, `,"settled":`...), s.Settled)
	b = appendTextOrNull(append(b, `,"waits_for":`...), s.ShownWait())
	return append(appendUUID(append(b, `,"job":`...), s.Message), '}')
}

func appendUUID(b []byte, id uuid.UUID) []byte {
	if id == uuid.Nil {
		return append(b, `null`...)
	}
	return rawjson.AppendText(b, id.String())
}

// runList is the name of the list of runs in its cursors.
const runList = "runs"

func sealRunCursor(cursor service.RunCursor, owner job.Owner) string {
	b := []byte(cursor.String())
	return base64.RawURLEncoding.EncodeToString(append(seal(b, runList, owner), b...))
}

// openRunCursor decodes a cursor that sealRunCursor made for the same owner.
func openRunCursor(text string, owner job.Owner) (cursor service.RunCursor, valid bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < sealSize {
		return cursor, false
	}
	given, b := b[:sealSize], b[sealSize:]
	if !hmac.Equal(given, seal(b, runList, owner)) {
		return cursor, false
	}
	return service.ReadRunCursor(string(b))
}

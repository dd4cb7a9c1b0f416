package qstash

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// shownDead is a message in the dead letter queue as clients see it.
type shownDead struct {
	DeadID string `json:"dlqId"`
	shownMessage
	Status     int                 `json:"responseStatus,omitempty"`
	Response   map[string][]string `json:"responseHeader,omitempty"`
	Body       string              `json:"responseBody,omitempty"`
	BodyBase64 string              `json:"responseBodyBase64,omitempty"`
}

var dead = []job.State{job.Discarded}

// isDead reports whether a job is in the dead letter queue.
func isDead(j *job.Job) bool {
	d := job.DialectIn(j.Args, job.DialectQStash)
	return j.State == job.Discarded && d != nil && !d.Archived
}

// eachDead calls do for the dead letters that a filter selects, newest first, until it
// returns false. next is the cursor to continue at; "" at the end.
func (c *call) eachDead(ctx context.Context, f *filter, do func(*job.Job) (bool, error)) (next string, err error) {
	after, err := c.search(ctx, f, dead, func(j *job.Job) (bool, error) {
		if !isDead(j) {
			return true, nil
		}
		if len(f.statuses) > 0 {
			r, err := c.lastResponse(ctx, j)
			if err != nil || !slices.Contains(f.statuses, r.status) {
				return true, err
			}
		}
		return do(j)
	})
	if after > 0 {
		next = strconv.FormatInt(after, 10)
	}
	return next, err
}

// defaultCount is how many dead letters a call reads or changes.
const defaultCount = 100

func (c *call) deadFilter() (*filter, error) {
	f, err := c.filter(forDead)
	if err != nil {
		return nil, err
	}
	if f.count == 0 || f.count > defaultCount {
		f.count = defaultCount
	}
	return f, c.named(f)
}

func (c *call) listDead() error {
	if source, _ := takeParameter(c.Request.URL, "source"); source == "workflow" {
		return c.listFailedRuns()
	}
	ctx := c.Request.Context()
	f, err := c.deadFilter()
	if err != nil {
		return err
	}
	list := struct {
		Messages []shownDead `json:"messages"`
		Cursor   string      `json:"cursor,omitempty"`
	}{Messages: []shownDead{}}
	limits, size := c.limitReader(), 0
	list.Cursor, err = c.eachDead(ctx, f, func(j *job.Job) (bool, error) {
		shown, err := c.showDead(ctx, j, limits)
		list.Messages = append(list.Messages, shown)
		size += len(j.Args) + len(shown.Body) + len(shown.BodyBase64)
		return len(list.Messages) < f.count && size < job.PageBytes, err
	})
	if err != nil {
		return err
	}
	return c.write(c.endless(&list.Cursor, f, list))
}

// endless removes the cursor of a call that names ids.
func (c *call) endless(cursor *string, f *filter, list any) any {
	if f.ids != nil || f.message != "" {
		*cursor = ""
	}
	return list
}

func noDead(id string) error {
	return fault.New(fault.NotFound, "message "+id+" not found in the DLQ")
}

// findDead returns a dead letter.
func (c *call) findDead(ctx context.Context, id string) (*job.Job, error) {
	ref, ok := idOf(id, deadPrefix)
	if !ok {
		return nil, noDead(id)
	}
	j, err := c.api.Service.Job(ctx, c.Owner, ref)
	if err != nil && fault.CodeOf(err) == fault.NotFound || err == nil && !isDead(j) {
		return nil, noDead(id)
	}
	return j, err
}

func (c *call) getDead() error {
	ctx := c.Request.Context()
	j, err := c.findDead(ctx, c.values[0])
	if err != nil {
		return err
	}
	shown, err := c.showDead(ctx, j, c.limitReader())
	if err != nil {
		return err
	}
	return c.write(shown)
}

func (c *call) showDead(ctx context.Context, j *job.Job, limits *limitReader) (shownDead, error) {
	spec := job.ReadSpec(j.Args)
	m, err := limits.message(ctx, j, &spec)
	if err != nil {
		return shownDead{}, err
	}
	d := shownDead{DeadID: lifecycle.DeadID(j.ID), shownMessage: m}
	r, err := c.lastResponse(ctx, j)
	d.Status, d.Response = r.status, r.header
	if utf8.Valid(r.body) {
		d.Body = string(r.body)
	} else {
		d.BodyBase64 = base64.StdEncoding.EncodeToString(r.body)
	}
	return d, err
}

// response is what a target answered.
type response struct {
	status int
	header http.Header
	body   []byte
}

// lastResponse returns the latest response to a job's requests; the zero response if
// there is none.
func (c *call) lastResponse(ctx context.Context, j *job.Job) (response, error) {
	logs, err := c.api.Service.Logs(ctx, c.Owner, uuid.Nil, job.LogQuery{
		ListQuery: job.ListQuery{Limit: 1}, Job: &job.Ref{Number: j.Number}, Event: job.EventResponse,
	})
	if err != nil || len(logs.Items) == 0 {
		return response{}, err
	}
	return responseOf(logs.Items[0].Payload), nil
}

// responseOf reads the log of a response.
func responseOf(payload rawjson.Value) response {
	var r response
	encoded := false
	for _, m := range rawjson.Members(payload) {
		switch m.Name {
		case "status":
			r.status, _ = strconv.Atoi(string(m.Value))
		case "headers":
			r.header = job.HeaderOf(m.Value)
		case "body":
			if m.Value.Kind() == '"' {
				r.body = []byte(rawjson.Text(m.Value))
			} else if !rawjson.IsNull(m.Value) {
				r.body = m.Value
			}
		case "encoding":
			encoded = true
		}
	}
	if encoded {
		if body, err := base64.StdEncoding.DecodeString(string(r.body)); err == nil {
			r.body = body
		}
	}
	return r
}

func (c *call) deleteDead() error {
	ctx := c.Request.Context()
	j, err := c.findDead(ctx, c.values[0])
	if err != nil {
		return err
	}
	if err := c.api.Service.Archive(ctx, c.Owner, job.Ref{Number: j.Number}); err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			err = noDead(c.values[0])
		}
		return err
	}
	return c.done()
}

func (c *call) deleteManyDead() error {
	ctx := c.Request.Context()
	f, err := c.deadFilter()
	if err != nil {
		return err
	}
	result := struct {
		Deleted int    `json:"deleted"`
		Cursor  string `json:"cursor,omitempty"`
	}{}
	result.Cursor, err = c.eachDead(ctx, f, func(j *job.Job) (bool, error) {
		err := c.api.Service.Archive(ctx, c.Owner, job.Ref{Number: j.Number})
		if err == nil {
			result.Deleted++
		} else if fault.CodeOf(err) == fault.NotFound {
			err = nil // another call was first
		}
		return result.Deleted < f.count, err
	})
	if err != nil {
		return err
	}
	c.endless(&result.Cursor, f, nil)
	return c.write(result)
}

// overrides returns the fields that headers change in a message that is sent again.
func (c *call) overrides() (rawjson.Value, error) {
	o, err := ReadOptions(c.Request.Header)
	if err != nil {
		return nil, err
	}
	var f fields
	if o.Method != "" {
		f.Text("method", o.Method)
	}
	if o.Timeout > 0 {
		f.Seconds("timeout", min(max(o.Timeout, job.MinTimeout), job.MaxTimeout))
	}
	if o.Retries > job.MaxRetries {
		return nil, fault.New(fault.Stale, "retries must be at most "+strconv.Itoa(job.MaxRetries))
	}
	if o.Retries >= 0 {
		f.Number("retries", int64(o.Retries))
	}
	if o.RetryDelay != "" {
		f.Text("retry_delay", o.RetryDelay)
	}
	f.timing(o)
	return f.Object(), nil
}

// retry sends a dead letter again, once, and removes it from the queue.
func (c *call) retry(ctx context.Context, j *job.Job, overrides rawjson.Value) (published, error) {
	key := "dlq:" + j.ID.String() // two calls at once send it once
	again, conflict, err := c.api.Service.Rerun(ctx, c.Owner, job.Ref{Number: j.Number}, overrides, &key)
	if err != nil {
		return published{}, err
	}
	if err := c.api.Service.Archive(ctx, c.Owner, job.Ref{Number: j.Number}); err != nil && fault.CodeOf(err) != fault.NotFound {
		return published{}, err
	}
	return published{MessageID: lifecycle.MessageID(again.ID), Deduplicated: conflict}, nil
}

func (c *call) retryDead() error {
	ctx := c.Request.Context()
	overrides, err := c.overrides()
	if err != nil {
		return err
	}
	j, err := c.findDead(ctx, c.values[0])
	if err != nil {
		return err
	}
	again, err := c.retry(ctx, j, overrides)
	if err != nil {
		return err
	}
	c.status = http.StatusCreated
	return c.write(again)
}

func (c *call) retryManyDead() error {
	ctx := c.Request.Context()
	overrides, err := c.overrides()
	if err != nil {
		return err
	}
	f, err := c.deadFilter()
	if err != nil {
		return err
	}
	result := struct {
		Responses []published `json:"responses"`
		Cursor    string      `json:"cursor,omitempty"`
	}{Responses: []published{}}
	result.Cursor, err = c.eachDead(ctx, f, func(j *job.Job) (bool, error) {
		again, err := c.retry(ctx, j, overrides)
		if err == nil {
			result.Responses = append(result.Responses, again)
		}
		return len(result.Responses) < f.count, err
	})
	if err != nil {
		return err
	}
	if f.ids != nil && len(result.Responses) == 0 {
		return fault.New(fault.NotFound, "none of these messages is in the DLQ")
	}
	c.endless(&result.Cursor, f, nil)
	c.status = http.StatusCreated
	return c.write(result)
}

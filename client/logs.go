package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// LogRecord is one step of one attempt. Payload depends on Event.
type LogRecord struct {
	Event      string          `json:"event"`
	ID         string          `json:"id"`
	InsertedAt Time            `json:"inserted_at"`
	JobID      int64           `json:"job_id"`
	Payload    json.RawMessage `json:"payload"`
	UserID     string          `json:"user_id"`
}

// ListLogs iterates over log entries.
func (c *Client) ListLogs(ctx context.Context, filter LogFilter) iter.Seq2[LogRecord, error] {
	return list[LogRecord](ctx, c, "/api/logs", filter.values())
}

// GetLog returns a log entry.
func (c *Client) GetLog(ctx context.Context, id string) (*LogRecord, error) {
	return fetch[LogRecord](ctx, c, call{method: http.MethodGet, path: "/api/logs" + element(id)})
}

// ExportLogs iterates over all log entries of a filter in one call, as they arrive.
// PageSize and OrderBy do not apply. It is not retried once it has begun.
func (c *Client) ExportLogs(ctx context.Context, filter LogFilter) iter.Seq2[LogRecord, error] {
	query := filter.values()
	query.Del("limit")
	query.Del("order_by")
	return func(yield func(LogRecord, error) bool) {
		stream, err := c.open(ctx, call{method: http.MethodGet, path: "/api/logs/export", query: query})
		if err != nil {
			yield(LogRecord{}, err)
			return
		}
		defer stream.Body.Close()
		lines := c.lines(stream.Body)
		for lines.Scan() {
			var entry LogRecord
			if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
				yield(LogRecord{}, fmt.Errorf("punctual: reading a log entry: %w", err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(LogRecord{}, fmt.Errorf("punctual: reading log entries: %w", err))
		}
	}
}

// lines reads lines of at most MaxResponseBytes.
func (c *Client) lines(body io.Reader) *bufio.Scanner {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(make([]byte, 0, 4<<10), int(min(c.config.MaxResponseBytes, 1<<30)))
	return scanner
}

// Event is something that happened in the account. Job or Log is set; neither is if
// Skipped says that more happened than the stream reports.
type Event struct {
	// ID is the log entry's; empty for other events.
	ID      string
	Job     *JobRecord
	Log     *LogRecord
	Skipped bool
}

// FollowEvents iterates over what happens from now on, or since the log entry with
// the id after. When the stream ends it comes back and repeats no log entry; it goes
// on until the context ends, a call fails for good, an event is longer than
// Config.MaxResponseBytes, or the loop is left. While the
// service can't be reached it tries again with growing waits of up to Config.MaxWait.
func (c *Client) FollowEvents(ctx context.Context, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for failures := 0; ; {
			header := http.Header{"Accept": {"text/event-stream"}}
			if after != "" {
				header.Set("Last-Event-Id", after)
			}
			stream, err := c.open(ctx, call{method: http.MethodGet, path: "/api/events", header: header})
			if err == nil {
				failures = 0
				goOn, tooLong := c.readEvents(stream.Body, func(event Event) bool {
					if event.ID != "" {
						after = event.ID
					}
					return yield(event, nil)
				})
				stream.Body.Close()
				if tooLong != nil {
					yield(Event{}, tooLong)
				}
				if !goOn {
					return
				}
			}
			wait := c.backoff(failures)
			failures++
			var problem *Problem
			if errors.As(err, &problem) {
				wait = max(wait, problem.RetryAfter)
				if !retryable(call{}, problem, err) || wait > c.config.MaxWait {
					yield(Event{}, err)
					return
				}
			}
			if err := sleep(ctx, wait); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// readEvents reads server-sent events until the stream ends, and reports whether to go
// on: the receiver wants more, and no event was too long, which would come again. An
// event that is no record is passed over: the stream's position moves on with the next.
func (c *Client) readEvents(body io.Reader, each func(Event) bool) (goOn bool, tooLong error) {
	var kind, id string
	var data bytes.Buffer
	lines := c.lines(body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			event, known := eventOf(kind, id, data.Bytes())
			kind, id = "", ""
			data.Reset()
			if known && !each(event) {
				return false, nil
			}
		case name == "event":
			kind = value
		case name == "id":
			id = value
		case name == "data" && int64(data.Len()+len(value)) <= c.config.MaxResponseBytes:
			data.WriteString(value)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return false, fmt.Errorf("an event is longer than Config.MaxResponseBytes: %w", err)
	}
	return true, nil
}

func eventOf(kind, id string, data []byte) (Event, bool) {
	event := Event{ID: id}
	switch kind {
	case "job":
		event.Job = &JobRecord{}
		return event, json.Unmarshal(data, event.Job) == nil
	case "log":
		event.Log = &LogRecord{}
		return event, json.Unmarshal(data, event.Log) == nil
	case "skipped":
		event.Skipped = true
		return event, true
	}
	return event, false
}

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type logsCommand struct {
	List   logsList   `cmd:"" help:"List log entries, newest first."`
	Show   logsShow   `cmd:"" help:"Show a log entry with its payload."`
	Tail   logsTail   `cmd:"" help:"Show log entries as they are written, until it is interrupted."`
	Export logsExport `cmd:"" help:"Write all log entries as lines of JSON, oldest first."`
}

// logPayload has the members of payloads that are shown, of all events.
type logPayload struct {
	Status   *int            `json:"status"`
	Duration *float64        `json:"duration_ms"`
	Kind     string          `json:"kind"`
	Message  string          `json:"message"`
	URL      string          `json:"url"`
	Reason   json.RawMessage `json:"reason"`
	RetryAt  *client.Time    `json:"retry_at"`
}

func logID(l *client.LogRecord) string { return l.ID }

// payloadOf reads the members that have the expected type and leaves out others.
func payloadOf(l *client.LogRecord) (p logPayload) {
	_ = json.Unmarshal(l.Payload, &p)
	return p
}

// logSummary says in a few words what an entry reports.
func logSummary(l *client.LogRecord, to terminal) string {
	p, parts := payloadOf(l), []string{}
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if p.Status != nil {
		add(strconv.Itoa(*p.Status))
	}
	if p.Kind != "" || p.Message != "" {
		add(strings.TrimSuffix(p.Kind+": "+p.Message, ": "))
	}
	add(strings.Trim(string(p.Reason), `"`))
	if p.Duration != nil {
		add(milliseconds(*p.Duration))
	}
	add(p.URL)
	if p.RetryAt != nil {
		add("retry at " + to.moment(*p.RetryAt))
	}
	return strings.Join(parts, ", ")
}

func logRow(to terminal, l *client.LogRecord) []string {
	return []string{to.moment(l.InsertedAt), strconv.FormatInt(l.JobID, 10), l.Event, logSummary(l, to)}
}

var logColumns = []column{{title: "TIME"}, {title: "JOB"}, {title: "EVENT"}, {title: "SUMMARY", shrink: true}}

type logsList struct {
	serviceFlags
	filterFlags
	listFlags
}

// Run lists log entries.
func (c *logsList) Run(env *environment) error {
	query, err := c.values(env, &c.serviceFlags)
	if err != nil {
		return err
	}
	records, err := c.list(env, "/api/logs", query, c.Limit)
	return listing[client.LogRecord]{
		id:      logID,
		none:    "there are no such log entries",
		columns: logColumns,
		row:     logRow,
	}.print(&c.displayFlags, env, records, err)
}

type logsShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The log entry's id."`
}

// Run shows a log entry.
func (c *logsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, "/api/logs/"+url.PathEscape(c.ID), nil)
	return printOne(&c.displayFlags, env, record, err, logID, func(l *client.LogRecord) error {
		to := c.terminal(env)
		f := facts{to: to}
		f.add("log", l.ID)
		f.add("event", l.Event)
		f.add("job", strconv.FormatInt(l.JobID, 10))
		f.add("time", to.moment(l.InsertedAt))
		f.add("summary", logSummary(l, to))
		if err := f.print(env.out); err != nil {
			return err
		}
		return c.print(env, rawjson.Get(record, "payload"), nil)
	})
}

type logsExport struct {
	serviceFlags
	filterFlags
	Output string `short:"o" placeholder:"FILE" help:"A file to write to, which must not exist. Default: standard output."`
}

// Run writes log entries as lines of JSON.
func (c *logsExport) Run(env *environment) error {
	query, err := c.values(env, &c.serviceFlags)
	if err != nil {
		return err
	}
	got, err := c.open(env.ctx, env, client.Request{Path: "/api/logs/export", Query: query})
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	out, closeOut := env.out, func() error { return nil }
	switch {
	case c.Output != "":
		file, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		out, closeOut = file, file.Close
	case env.terminal.interactive:
		out = &safeLines{out}
	}
	_, err = io.Copy(out, got.Body)
	if err != nil {
		err = fmt.Errorf("the export is not complete: %w", unreached(env, err))
	}
	return errors.Join(err, closeOut())
}

// safeLines makes lines of JSON safe for a terminal.
type safeLines struct{ io.Writer }

// Write implements io.Writer. A character that is split between two writes is
// replaced, which only a terminal sees.
func (w *safeLines) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(safeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

type logsTail struct {
	serviceFlags
	Job   string `placeholder:"N" help:"Only entries of the job with this number."`
	Event string `placeholder:"EVENT" help:"Only entries of this event, such as worker.http.error."`
}

// tailPause is the wait before a stream that ended is opened again.
const tailPause = time.Second

// Run follows the account's events and prints log entries. It connects again when
// the stream ends, which a service does every 15 minutes, and misses nothing.
func (c *logsTail) Run(env *environment) error {
	if n, err := strconv.ParseInt(c.Job, 10, 64); c.Job != "" && (err != nil || n < 1) {
		return failed(statusUsage, "--job must be a job's number, not %q", c.Job)
	}
	t := &tail{c: c, env: env, to: c.terminal(env)}
	var lost time.Time
	for {
		err := t.follow()
		switch status := exitStatus(err); {
		case env.ctx.Err() != nil:
			return failed(statusInterrupted, "interrupted")
		case status != statusUnreachable && status != statusTooMany && err != nil || !t.opened && err != nil:
			return err
		case err == nil:
			lost = time.Time{}
		case lost.IsZero():
			lost = time.Now()
			_, _ = fmt.Fprintf(env.errOut, "punctual: %s; trying again\n", printableLines(sentence(err)))
		case time.Since(lost) > patience:
			return err
		}
		pause.For(env.ctx, tailPause)
	}
}

// tail is the following of log entries.
type tail struct {
	c      *logsTail
	env    *environment
	to     terminal
	last   string // the id of the last entry
	opened bool   // a stream was opened before
}

// maxEvent bounds an event of a stream, in bytes.
const maxEvent = 64 << 20

// follow reads a stream to its end; the end of an open stream is no error.
func (t *tail) follow() error {
	header := http.Header{"Accept": {"text/event-stream"}}
	if t.last != "" {
		header.Set("Last-Event-ID", t.last)
	}
	// The service sends a comment every 15 seconds; a connection that is silent for
	// longer is dead.
	ctx, cancel := context.WithCancel(t.env.ctx)
	defer cancel()
	silence := time.AfterFunc(3*callTimeout, cancel)
	defer silence.Stop()
	got, err := t.c.open(ctx, t.env, client.Request{Path: "/api/events", Header: header})
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	if mediaType, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";"); mediaType != "text/event-stream" {
		return t.c.notPunctual(t.env)
	}
	if !t.opened && !t.c.JSON && !t.c.Quiet {
		_, _ = fmt.Fprintln(t.env.errOut, "waiting for log entries; ^C ends it")
	}
	t.opened = true
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, maxEvent)
	var event, data string
	for lines.Scan() {
		silence.Reset(3 * callTimeout)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if err := t.print(event, data); err != nil {
				return err
			}
			event, data = "", ""
		case name == "event":
			event = value
		case name == "data":
			data = value
		}
	}
	return nil // whatever ended it, the next stream begins after the last entry
}

// print prints an event if it is a log entry that is asked for.
func (t *tail) print(event, data string) error {
	if event == "skipped" {
		_, err := fmt.Fprintln(t.env.errOut, "punctual: more happened than the stream reports; punctual logs list shows all entries")
		return err
	}
	if event != "log" {
		return nil
	}
	l, err := decoded[client.LogRecord]([]byte(data))
	if err != nil {
		return err
	}
	t.last = l.ID
	if t.c.Event != "" && l.Event != t.c.Event || t.c.Job != "" && strconv.FormatInt(l.JobID, 10) != t.c.Job {
		return nil
	}
	switch {
	case t.c.JSON:
		text := []byte(data)
		if t.to.interactive {
			text = safeJSON(text)
		}
		_, err = fmt.Fprintf(t.env.out, "%s\n", text)
	case t.c.Quiet:
		err = printIDs(t.env, []client.LogRecord{l}, logID)
	default:
		line := printable(strings.Join(logRow(t.to, &l), "  "))
		if t.to.width > 0 {
			line = fit(line, t.to.width)
		}
		_, err = fmt.Fprintln(t.env.out, t.to.paint(eventColours[l.Event], line))
	}
	return err
}

// logEvents are the events of log entries, for completion.
var logEvents = []string{
	job.EventRequest, job.EventResponse, job.EventError, job.EventCallbackFailed, job.EventWebhookFailed,
	job.EventStateRejected, job.EventSkipped, job.EventEnded, job.EventAlertFailed, job.EventCompletion, job.EventOrphaned,
}

// eventColours are the colours of log entries; others have none.
var eventColours = map[string]colour{job.EventError: red, job.EventCallbackFailed: red, job.EventWebhookFailed: red,
	job.EventRequest: faint}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/listen"
)

// listenDisplay prints what happens while the command listens: requests to out, all else
// to errOut.
type listenDisplay struct {
	mu          sync.Mutex
	out, errOut io.Writer
	flags       displayFlags
	hinted      bool // what to do when nothing listens at --forward-to was printed
}

func newListenDisplay(out, errOut io.Writer, flags displayFlags) *listenDisplay {
	return &listenDisplay{out: out, errOut: errOut, flags: flags}
}

// note prints a line for people.
func (t *listenDisplay) note(format string, values ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.errOut, format+"\n", values...)
}

// ready prints that requests arrive from now on.
func (t *listenDisplay) ready(c *listenCommand) {
	t.note("ready: %s -> %s (press Ctrl+C to stop)", c.what(), c.ForwardTo)
}

// answeredLine is what --json prints of a request.
type answeredLine struct {
	ReceivedAt string  `json:"received_at"` // local time, RFC 3339
	Method     string  `json:"method"`
	Path       string  `json:"path"`
	JobID      string  `json:"job_id,omitempty"`
	Attempt    string  `json:"attempt,omitempty"`
	MessageID  string  `json:"webhook_id,omitempty"`
	Status     *int    `json:"status"`
	DurationMS float64 `json:"duration_ms"`
	Error      *string `json:"error"`
}

// answered prints a request with its response.
func (t *listenDisplay) answered(c *listenCommand, m, answer *listen.Message, at time.Time, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.flags.JSON:
		t.line(m, answer, at, took)
		return
	case t.flags.Quiet:
		_, _ = fmt.Fprintln(t.out, printable(field(m, "webhook-id")))
		return
	}
	result := fmt.Sprint(answer.Status)
	if answer.Type == listen.Failure {
		result = string(answer.Kind)
	}
	line := fmt.Sprintf("%s  %-7s  %8s  %-6s %s", at.Local().Format("15:04:05.000"), result, took.Round(time.Millisecond),
		printable(m.Method), printable(m.Path))
	if number := field(m, "X-Punctual-Job-Id"); number != "" {
		line += fmt.Sprintf("  job %s, attempt %s", printable(number), printable(field(m, "X-Punctual-Attempt")))
	}
	_, _ = fmt.Fprintln(t.out, line)
	if answer.Type != listen.Failure {
		return
	}
	_, _ = fmt.Fprintf(t.errOut, "  %s\n", printable(answer.Error))
	if answer.Kind == job.KindConnect && !t.hinted {
		t.hinted = true
		_, _ = fmt.Fprintf(t.errOut, "  start your program at %s, or say with --forward-to where it is; failed attempts are retried\n",
			printable(c.ForwardTo))
	}
}

// line prints a request as JSON. Called with mu held.
func (t *listenDisplay) line(m, answer *listen.Message, at time.Time, took time.Duration) {
	l := answeredLine{
		ReceivedAt: at.Local().Format(time.RFC3339Nano), Method: m.Method, Path: m.Path, JobID: field(m, "X-Punctual-Job-Id"),
		Attempt: field(m, "X-Punctual-Attempt"), MessageID: field(m, "webhook-id"), DurationMS: float64(took.Microseconds()) / 1000,
	}
	if answer.Type == listen.Failure {
		l.Error = &answer.Error
	} else {
		l.Status = &answer.Status
	}
	text, err := json.Marshal(l)
	if err != nil {
		return // it has no values that can't be written
	}
	_, _ = fmt.Fprintf(t.out, "%s\n", text)
}

// field returns a header field of a request.
func field(m *listen.Message, name string) string {
	for _, f := range m.Header {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

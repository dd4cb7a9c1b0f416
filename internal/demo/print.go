package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// printer writes for a person: plain lines, and at a terminal also colours and
// one live line below them. Safe for concurrent use, since the service's log
// goes through it too.
type printer struct {
	out      io.Writer
	terminal bool
	color    bool
	zone     *time.Location

	mu   sync.Mutex
	live bool // a live line is shown
	err  error
}

// Colours, modest ones.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// clearLine goes to the beginning of the line and erases it.
const clearLine = "\r\x1b[K"

func (p *printer) paint(color, text string) string {
	if !p.color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// print writes lines in place of the live line.
func (p *printer) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		text = clearLine + text
		p.live = false
	}
	p.write(text)
}

func (p *printer) write(text string) {
	if _, err := io.WriteString(p.out, text); err != nil && p.err == nil {
		p.err = fmt.Errorf("the output can't be written: %w", err)
	}
}

// failed reports whether the output is lost.
func (p *printer) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// aside returns a writer for what is not the demo's own output, such as the
// service's errors; the live line makes room for it.
func (p *printer) aside(out io.Writer) io.Writer { return &asideWriter{p, out} }

type asideWriter struct {
	*printer
	other io.Writer
}

func (w *asideWriter) Write(b []byte) (int, error) {
	w.print("")
	return w.other.Write(b)
}

func (p *printer) heading() {
	p.print(p.paint(bold, "punctual demo: HTTP requests fired on time, for about fifteen seconds") + `

The service starts on a temporary database, beside a target of its own; nothing
leaves this machine. The demo creates three jobs through its API:

  one-off     due in 1.5 s
  recurring   due in 2 s, then every 2 s; the target counts its runs in $state
  fails once  due in 2.5 s; the target responds with 503 at first, so it is
              retried after 10 s lengthened by up to 10 %

`)
}

// rowFormat holds the columns; lines stay within 80 characters, unless
// there is a failure to report.
const rowFormat = "%-*s  %-12s  %-12s  %9s  %s  %s"

func (p *printer) header() {
	legend := "Times are " + zoneName(p.zone) + `; "fired" is when the target had the request.`
	head := fmt.Sprintf(rowFormat, longestJob, "job", "due", "fired", "late", "status", "state")
	p.print(p.paint(dim, legend) + "\n\n" + p.paint(dim, head) + "\n")
}

// zoneName names the zone by its distance from UTC, which everybody can check.
func zoneName(zone *time.Location) string {
	now := time.Now().In(zone)
	if _, offset := now.Zone(); offset == 0 {
		return "UTC"
	}
	return now.Format("UTC-07:00")
}

// row prints a run.
func (p *printer) row(r *run) {
	fired, late, status := "-", "-", "-"
	if !r.fired.IsZero() {
		fired, late = p.clock(r.fired), milliseconds(r.late())
	}
	if r.status > 0 {
		status = fmt.Sprint(r.status)
	}
	state, note := fmt.Sprintf("%-9s", r.state), noteOn(r)
	if note == "" {
		state = r.state
	} else {
		note = "  " + p.paint(dim, note)
	}
	p.print(fmt.Sprintf(rowFormat, longestJob, r.role, p.clock(r.due), fired, late,
		fmt.Sprintf("%-6s", status), p.paint(stateColor(r.state), state)) + note + "\n")
}

func noteOn(r *run) string {
	switch {
	case !r.retryAt.IsZero():
		return "in " + seconds(r.retryAt.Sub(r.ended))
	case r.failure != "":
		return r.failure
	case r.role == recurring:
		return fmt.Sprintf("count %d", r.count)
	case r.attempt > 1:
		return fmt.Sprintf("attempt %d", r.attempt)
	}
	return ""
}

func stateColor(state string) string {
	switch state {
	case "completed":
		return green
	case "retryable":
		return yellow
	}
	return red
}

// progress shows the live line: how long it has taken, and what comes next.
func (p *printer) progress(elapsed time.Duration, now time.Time, next []awaited) {
	if !p.terminal {
		return
	}
	text := fmt.Sprintf("%6s   ", seconds(elapsed))
	switch {
	case len(next) == 0:
		text += "next: reading what is stored"
	case next[0].due.After(now):
		text += fmt.Sprintf("next: %s in %s", next[0].spoken(), seconds(next[0].due.Sub(now)))
	default:
		text += fmt.Sprintf("now: %s", next[0].spoken())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = true
	p.write(clearLine + p.paint(dim, text))
}

func (a *awaited) spoken() string {
	if a.retry {
		return "the retry of " + a.role.spoken()
	}
	return a.role.spoken()
}

// clear takes the live line away.
func (p *printer) clear() { p.print("") }

func (p *printer) clock(t time.Time) string { return t.In(p.zone).Format("15:04:05.000") }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// listed writes tallies as in "8 completed, 1 cancelled".
func listed(tallies []tally) string {
	if len(tallies) == 0 {
		return "none"
	}
	var parts []string
	for _, t := range tallies {
		parts = append(parts, fmt.Sprintf("%d %s", t.times, t.what))
	}
	return strings.Join(parts, ", ")
}

package view

import (
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// partNames are the names of the parts of an exchange, which are also their classes.
var partNames = [...]string{
	job.DNSPhase: "dns", job.ConnectPhase: "connect", job.TLSPhase: "tls", job.SendPhase: "send", job.WaitPhase: "wait",
	job.ReadPhase: "read",
}

// segment is a part of an attempt in its bar.
type segment struct{ name, x, width, took string }

// leastPart is the shortest part of an attempt that is shown: shorter ones would be 0.0 ms.
const leastPart = 50 * time.Microsecond

// segments returns the parts of an attempt as a bar, of which the width stands for the
// longest attempt of the job. An attempt whose parts were not measured is one segment.
func segments(a *Attempt, longest time.Duration) []segment {
	if a.Outcome == nil || a.Duration <= 0 || longest <= 0 {
		return nil
	}
	timings := job.ReadTimings(a.Outcome.Payload)
	if timings == (job.Timings{}) {
		return []segment{{"total", "0%", ui.Percentage(float64(a.Duration) / float64(longest)), ui.Millis(a.Duration)}}
	}
	var all []segment
	at := 0.0
	for part, took := range timings {
		if took < leastPart {
			continue
		}
		share := min(float64(took)/float64(longest), 1-at)
		all = append(all, segment{partNames[part], ui.Percentage(at), ui.Percentage(max(share, 0.002)), ui.Millis(took)})
		at += share
	}
	return all
}

// partsText describes the parts of an attempt: "connect 1.2 ms, wait 90 ms".
func partsText(parts []segment) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.name + " " + p.took
	}
	return strings.Join(texts, ", ")
}

// longest returns the duration of the longest attempt.
func (d *Job) longest() (longest time.Duration) {
	for i := range d.Attempts {
		longest = max(longest, d.Attempts[i].Duration)
	}
	return longest
}

// late returns how late the attempts started: the first after its due time, others after
// the time of their retry; nil if nothing started, or if the job was due before it was
// created.
func (d *Job) late() *ui.Lateness {
	if len(d.Attempts) == 0 || d.Job.ScheduledAt.Before(d.Job.InsertedAt.Truncate(time.Second)) {
		return nil
	}
	l := &ui.Lateness{ID: "late", Of: [2]string{"attempt", "attempts"}, Around: d.Around, AroundOf: "other runs of the schedule"}
	due := d.Job.ScheduledAt
	for i := range d.Attempts {
		a := &d.Attempts[i]
		if !due.IsZero() && !a.StartedAt.Before(due) {
			l.Dots = append(l.Dots, ui.LateDot{Late: a.StartedAt.Sub(due), Text: "Attempt " + strconv.Itoa(a.Number)})
		}
		due = a.RetryAt
	}
	if len(l.Dots) == 0 {
		return nil
	}
	return l
}

// lane is all attempts of a job to scale, from its due time to its end or its next
// attempt, with the waits between them.
type lane struct {
	start, end time.Time
	now        time.Time // zero once the job has ended
	bars       []laneBar
	waits      [][2]string // where waits begin and end
	next       string      // where the next attempt is; "" if there is none
}

// laneBar is an attempt in a lane.
type laneBar struct{ x, width, tone, text string }

// lane returns the lane; nil if there is only one attempt, which needs none.
func (d *Job) lane() *lane {
	if len(d.Attempts) == 0 || len(d.Attempts) == 1 && d.Job.State != job.Retryable {
		return nil
	}
	l := &lane{start: earlierOf(d.Job.ScheduledAt, d.Attempts[0].StartedAt)}
	for i := range d.Attempts {
		l.end = laterOf(l.end, d.endOf(&d.Attempts[i]))
	}
	if !d.Job.State.Final() {
		l.now = d.Now
		if l.end = laterOf(l.end, d.Now); d.Job.State == job.Retryable {
			l.end = laterOf(l.end, d.Job.DueAt)
			l.next = l.at(d.Job.DueAt)
		}
	}
	from := l.start
	for i := range d.Attempts {
		a := &d.Attempts[i]
		end := d.endOf(a)
		tone, _, text := (&AttemptRow{Attempt: *a, Ended: d.Job.State.Final()}).result()
		x := min(l.share(a.StartedAt), 1-leastBar)
		l.bars = append(l.bars, laneBar{ui.Percentage(x), ui.Percentage(max(l.share(end)-x, leastBar)), tone,
			"Attempt " + strconv.Itoa(a.Number) + ": " + text})
		l.waits = append(l.waits, [2]string{l.at(from), l.at(a.StartedAt)})
		from = end
	}
	if d.Job.State == job.Retryable {
		l.waits = append(l.waits, [2]string{l.at(from), l.next})
	}
	return l
}

// endOf returns when an attempt ended; now if it is under way.
func (d *Job) endOf(a *Attempt) time.Time {
	if a.Outcome == nil && !d.Job.State.Final() {
		return d.Now
	}
	return a.StartedAt.Add(a.Duration)
}

func (l *lane) share(t time.Time) float64 {
	return min(1, max(0, float64(t.Sub(l.start))/float64(max(l.end.Sub(l.start), time.Millisecond))))
}

func (l *lane) at(t time.Time) string { return ui.Percentage(l.share(t)) }

// length says how long the lane is.
func (l *lane) length() string { return ui.Millis(l.end.Sub(l.start)) }

// summary describes the lane for screen readers.
func (l *lane) summary() string {
	texts := make([]string, len(l.bars))
	for i, b := range l.bars {
		texts[i] = b.text
	}
	text := ui.Plural(len(l.bars), "attempt", "attempts") + " in " + l.length() + ": " + strings.Join(texts, "; ") + "."
	if l.next != "" {
		text += " Another one follows."
	}
	return text
}

// compared is a line of two texts side by side.
type compared struct {
	left, right string
	differs     bool
}

const (
	// maxComparedLines and maxComparedText are how much of a text is compared.
	maxComparedLines = 200
	maxComparedText  = 8 << 10
)

// linesOf returns the lines of a text that are compared, and whether there are more.
func linesOf(text string) (lines []string, more bool) {
	kept, left := ui.Clip(text, maxComparedText)
	lines = strings.Split(kept, "\n")
	if len(lines) > maxComparedLines {
		return lines[:maxComparedLines], true
	}
	return lines, left > 0
}

// compareLines puts two texts side by side. Lines that both have, in the same order, stand
// beside each other; the others differ.
func compareLines(a, b []string) []compared {
	// same[i][k] is how many lines a[i:] and b[k:] can have in common.
	same := make([][]int, len(a)+1)
	for i := range same {
		same[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			if a[i] == b[k] {
				same[i][k] = same[i+1][k+1] + 1
			} else {
				same[i][k] = max(same[i+1][k], same[i][k+1])
			}
		}
	}
	var all []compared
	i, k := 0, 0
	for i < len(a) || k < len(b) {
		if i < len(a) && k < len(b) && a[i] == b[k] {
			all = append(all, compared{left: a[i], right: b[k]})
			i, k = i+1, k+1
			continue
		}
		from, to := i, k
		for i < len(a) || k < len(b) {
			if i < len(a) && k < len(b) && a[i] == b[k] {
				break
			}
			if k == len(b) || i < len(a) && same[i+1][k] >= same[i][k+1] {
				i++
			} else {
				k++
			}
		}
		for n := range max(i-from, k-to) {
			line := compared{differs: true}
			if from+n < i {
				line.left = a[from+n]
			}
			if to+n < k {
				line.right = b[to+n]
			}
			all = append(all, line)
		}
	}
	return all
}

// requestText returns what an attempt sent: the URL, headers and body, a header in a line.
func requestText(a *Attempt) string {
	if a.Request == nil {
		return "Nothing was sent."
	}
	return rawjson.Text(rawjson.Get(a.Request.Payload, "url")) + "\n" + messageText(a.Request)
}

// responseText returns what came back: the status or the error, headers and body.
func responseText(a *Attempt) string {
	switch {
	case a.Outcome == nil:
		return "No response yet."
	case a.Outcome.Event == job.EventError:
		return ui.Cause(a.Kind) + "\n" + a.Message
	case a.Responded:
		return "HTTP " + strconv.Itoa(a.Status) + "\n" + messageText(a.Outcome)
	}
	return messageText(a.Outcome)
}

func messageText(l *job.Log) string {
	var b strings.Builder
	for _, m := range rawjson.Members(rawjson.Get(l.Payload, "headers")) {
		value := string(m.Value)
		if m.Value.Kind() == '"' {
			value = rawjson.Text(m.Value)
		}
		b.WriteString(m.Name + ": " + value + "\n")
	}
	text, _ := bodyOf(l)
	return b.String() + "\n" + text
}

// attemptName names an attempt with its result: "Attempt 2: 503".
func attemptName(a *Attempt) string {
	_, _, text := (&AttemptRow{Attempt: *a}).result()
	return "Attempt " + strconv.Itoa(a.Number) + ": " + text
}

// Comparison is two attempts of a job side by side.
type Comparison struct {
	Job         *job.Job
	Attempts    []Attempt
	Left, Right int // places among the attempts, from 0
	Hidden      Hidden
}

// parts returns the texts that are compared.
func (c *Comparison) parts() []comparedPart {
	a, b := &c.Attempts[c.Left], &c.Attempts[c.Right]
	part := func(title, left, right string) comparedPart {
		x, moreX := linesOf(left)
		y, moreY := linesOf(right)
		return comparedPart{title, compareLines(x, y), moreX || moreY}
	}
	return []comparedPart{part("Request", requestText(a), requestText(b)), part("Response", responseText(a), responseText(b))}
}

// comparedPart is the requests or the responses side by side.
type comparedPart struct {
	title string
	lines []compared
	more  bool
}

// verdict says how many lines differ.
func (p *comparedPart) verdict() string {
	n := 0
	for _, l := range p.lines {
		if l.differs {
			n++
		}
	}
	if n == 0 {
		return "equal"
	}
	return ui.Plural(n, "line differs", "lines differ")
}

// RunLateness returns how late the last runs of a schedule started, without one of them.
func RunLateness(s *job.Schedule, runs []job.RunSummary, without int64) (late []time.Duration) {
	row := &ScheduleRow{Schedule: s, Runs: runs}
	for i := range runs {
		if l, ok := row.lateness(&runs[i]); ok && runs[i].Number != without {
			late = append(late, l)
		}
	}
	return late
}

package job

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Trail is what was stored about the attempts of a job.
type Trail struct {
	Logs    []AttemptLog // oldest first
	Pending int          // deliveries that are still to be made
	Failed  int          // deliveries that were given up
	Reruns  []int64      // the numbers of the jobs that repeat it, newest first
}

// TrailSize returns the size of a trail.
func TrailSize(t *Trail) (n int) {
	if t == nil {
		return 0
	}
	for i := range t.Logs {
		n += len(t.Logs[i].Head) + len(t.Logs[i].Tail)
	}
	return n
}

// AttemptLog is a log of an attempt, without the middle of its payload, where the
// headers and bodies are.
type AttemptLog struct {
	Event string
	At    time.Time
	// Head and Tail are the first and the last bytes of the payload, at most
	// AttemptHead and AttemptTail of them. If the payload is not longer than Head,
	// Tail is empty.
	Head, Tail string
}

// MaxTrailCount bounds the counts of deliveries in a Trail.
const MaxTrailCount = 10_000

// How many bytes of a payload an AttemptLog has. The head contains the status of a
// response or the failure, the tail what follows the body of a response.
const (
	AttemptHead = 2 << 10
	AttemptTail = 8 << 10
)

// AttemptSummary is an attempt of a job. Duration is negative while it is under
// way, Status 0 without a response, Failure nil unless it failed, and RetryAt zero
// if no attempt followed.
type AttemptSummary struct {
	Number    int
	StartedAt time.Time
	Duration  time.Duration
	Status    int
	Failure   *Failure
	RetryAt   time.Time
}

// Attempts returns the attempts that logs describe, oldest first. An interrupted
// attempt has the same number as the one that follows it.
func Attempts(logs []AttemptLog) []AttemptSummary {
	var all []AttemptSummary
	ended := true // the last one
	for i := range logs {
		l := &logs[i]
		switch l.Event {
		case EventRequest:
			all = append(all, AttemptSummary{StartedAt: l.At, Duration: -1})
			ended = false
		case EventResponse, EventError, EventCompletion:
			if ended { // nothing was sent
				all = append(all, AttemptSummary{StartedAt: l.At})
			}
			if l.awaiting() { // it goes on
				all[len(all)-1].Status = http.StatusAccepted
				continue
			}
			l.end(&all[len(all)-1])
			ended = true
		}
	}
	number(all)
	return all
}

// awaiting is Log.Awaiting for a payload of which the middle may be missing.
func (l *AttemptLog) awaiting() bool {
	tail := l.Tail
	if tail == "" {
		tail = l.Head
	}
	return l.Event == EventResponse && strings.HasSuffix(tail, `,"`+LogAwaiting+`":true}`)
}

// number numbers attempts: those that failed have their numbers in the logs.
func number(all []AttemptSummary) {
	for i := range all {
		if all[i].Number > 0 {
			continue
		}
		if i > 0 {
			all[i].Number = following(&all[i-1])
			continue
		}
		// The first one's number follows from that of the first with a number.
		next := 0
		for next < len(all) && all[next].Number == 0 {
			next++
		}
		all[0].Number = 1
		if next < len(all) {
			all[0].Number = max(1, all[next].Number-next)
		}
	}
}

func following(a *AttemptSummary) int {
	if a.Failure != nil && a.Failure.Kind == KindInterrupted {
		return a.Number
	}
	return a.Number + 1
}

// end adds what a log of the outcome says.
func (l *AttemptLog) end(a *AttemptSummary) {
	tail := l.Tail
	if tail == "" {
		tail = l.Head
	}
	// What follows the body of a response contains no other unescaped quote.
	if i := strings.LastIndex(tail, `"duration_ms":`); i >= 0 {
		tail = tail[i:]
	}
	ms, _ := strconv.ParseFloat(between(tail, `"duration_ms":`), 64)
	a.Duration = time.Duration(ms * float64(time.Millisecond)).Round(time.Microsecond)
	a.Number, _ = strconv.Atoi(between(tail, `"attempt":`))
	if text := between(tail, `"retry_at":`); strings.HasPrefix(text, `"`) {
		a.RetryAt, _ = time.Parse(layoutMicros, strings.Trim(text, `"`))
	}
	if l.Event == EventCompletion {
		return
	}
	if l.Event == EventError {
		a.Failure = failureIn(l.Head)
		return
	}
	a.Status, _ = strconv.Atoi(between(l.Head, `"status":`))
	switch i := strings.Index(tail, `"error":`); {
	case i >= 0:
		a.Failure = failureIn(tail[i+len(`"error":`):])
	case a.Number > 0: // only failed attempts have their number there
		a.Failure = StatusFailure(a.Status)
	}
}

// StatusFailure returns why an attempt failed whose response had a status that is no
// success by the job's rule.
func StatusFailure(status int) *Failure {
	return &Failure{Kind: KindStatus, Message: "the target responded with " + strconv.Itoa(status) + ", which is no success"}
}

// between returns the text after a name up to the next comma or brace.
func between(text, name string) string {
	_, after, found := strings.Cut(text, name)
	if !found {
		return ""
	}
	if i := strings.IndexAny(after, ",}"); i >= 0 {
		after = after[:i]
	}
	return after
}

// failureIn reads kind and message at the beginning of a text.
func failureIn(text string) *Failure {
	return &Failure{Kind: Kind(firstString(text, `"kind":`)), Message: firstString(text, `"message":`)}
}

// firstString returns the string after a name. If the text ends within it, it is
// cut there.
func firstString(text, name string) string {
	_, after, found := strings.Cut(text, name)
	if !found || after == "" || after[0] != '"' {
		return ""
	}
	end := 1
	for end < len(after) && after[end] != '"' {
		if after[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(after) {
		end = max(strings.LastIndexByte(after, '\\'), 1)
		return rawjson.Text(rawjson.Value(strings.ToValidUTF8(after[:end], "") + `"`))
	}
	return rawjson.Text(rawjson.Value(after[:end+1]))
}

package notify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// headline returns one line that says what happened. It has no control
// characters.
func headline(m *Message) string {
	what := "job " + strconv.FormatInt(m.Job, 10)
	if m.Schedule != uuid.Nil {
		what = "schedule " + m.Schedule.String()
	}
	if m.Detail.Name != "" {
		what = oneLine(m.Detail.Name, 80)
	}
	switch m.Type {
	case Failed:
		if m.Failures > 1 {
			return fmt.Sprintf("[%s] failed %d times in a row: %s", m.Alert, m.Failures, what)
		}
		return fmt.Sprintf("[%s] failed: %s", m.Alert, what)
	case Recovered:
		return fmt.Sprintf("[%s] recovered: %s", m.Alert, what)
	case Late:
		return fmt.Sprintf("[%s] late: %s has not started", m.Alert, what)
	case Skipped:
		return fmt.Sprintf("[%s] skipped: %s has passed over due times", m.Alert, what)
	case Ended:
		return fmt.Sprintf("[%s] ended: %s has no further runs", m.Alert, what)
	case Merged:
		total := 0
		for _, n := range m.Merged {
			total += n
		}
		return fmt.Sprintf("[%s] %d more messages within a minute", m.Alert, total)
	default:
		return fmt.Sprintf("[%s] test: messages of this alert arrive", m.Alert)
	}
}

// lines returns the details, one in each line.
func lines(m *Message) []string {
	var all []string
	add := func(name, value string, most int) {
		if value != "" {
			all = append(all, name+": "+oneLine(value, most))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Merged)) {
		all = append(all, fmt.Sprintf("%s: %d", strings.TrimPrefix(kind, "alert."), m.Merged[kind]))
	}
	if m.Schedule != uuid.Nil {
		add("schedule", m.Schedule.String(), 36)
	}
	if m.Job != 0 {
		add("job", strconv.FormatInt(m.Job, 10), 20)
	}
	// Channels and mailboxes have many readers: the query may hold credentials.
	target, _, _ := strings.Cut(m.Detail.URL, "?")
	add("url", target, 500)
	add("reason", m.Detail.Reason, 20)
	if m.Detail.Status != nil {
		add("status", strconv.Itoa(*m.Detail.Status), 3)
	}
	if e := m.Detail.Error; e != nil {
		add("error", e.Kind+": "+e.Message, MaxError)
	}
	add("response", m.Detail.Excerpt, MaxExcerpt)
	add("time", m.At.UTC().Format("2006-01-02 15:04:05 UTC"), 30)
	return all
}

// oneLine returns text without control characters, cut to at most that many
// bytes.
func oneLine(text string, most int) string {
	return Cut(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text), most)
}

// Cut returns the beginning of text, at most that many bytes and valid UTF-8.
func Cut(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}

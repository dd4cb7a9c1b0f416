package ui

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// FormatStamp formats t for the datetime attribute of <time>.
func FormatStamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// look is how a state is shown: the tone of its badge, its icon and its label, which
// is not the API's word.
type look struct{ tone, icon, label string }

var stateLooks = map[job.State]look{
	job.Available: {"calm", "clock", "Scheduled"}, job.Executing: {"busy", "play", "Running"}, job.Retryable: {"warn", "retry", "Retrying"},
	job.Completed: {"good", "check", "Completed"}, job.Cancelled: {"calm", "minus", "Cancelled"}, job.Discarded: {"bad", "cross", "Failed"},
}

// StateLabel returns the label of a state.
func StateLabel(s job.State) string { return stateLooks[s].label }

// maxShown is the most bytes that one value takes in a page.
const maxShown = 12 << 10

// codeLabel returns the name of a preformatted text, which differs from those of the
// others on the page: its id in words.
func codeLabel(id string) string { return Capital(strings.ReplaceAll(id, "-", " ")) }

func noticeRole(tone string) string {
	if tone == "bad" {
		return "alert"
	}
	return "status"
}

func noticeIcon(tone string) string {
	switch tone {
	case "good":
		return "check"
	case "bad", "warn":
		return "warning"
	default:
		return "info"
	}
}

// Tab is a link to one of several versions of a list.
type Tab struct {
	Label, Href string
	// Count is shown behind the label; "" for none.
	Count   string
	Current bool
}

// Chip is a word with a link: a filter that the link removes, or a tag.
type Chip struct{ Name, Text, Href string }

package view

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// MuteForever is the choice of a mute that only unmuting ends.
const MuteForever = "unmuted"

// muteChoices are until when a schedule can be muted: times in plain words, in the zone of
// the page.
var muteChoices = []ui.Choice{
	{Value: "in 1 hour", Label: "an hour from now"}, {Value: "tomorrow at 9:00", Label: "tomorrow at 9:00"},
	{Value: "in 7 days", Label: "a week from now"}, {Value: MuteForever, Label: "I unmute it"},
}

// muteWord is the label of a muted schedule.
func muteWord(m *job.Mute) string {
	if m.Acknowledged() {
		return "Acknowledged"
	}
	return "Muted"
}

// muteWords says until when a schedule is muted, and why.
func muteWords(now time.Time, m *job.Mute) string {
	words := "until you unmute it"
	switch {
	case m.Acknowledged():
		words = "until it succeeds"
	case !m.Until.IsZero():
		words = "until " + ui.Clock(now, m.Until)
	}
	if m.Note != nil {
		words += ": " + *m.Note
	}
	return words
}

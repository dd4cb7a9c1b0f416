package notify

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// slack posts to Slack's incoming webhooks, which Mattermost and others also have:
// {"text": …}.
var slack = Channel{
	Number: job.AlertSlack, Name: "slack", Label: "Slack", Hint: "URLs of incoming webhooks, one per line.",
	Placeholder: "URL", Help: "Send to this incoming webhook of Slack; may be repeated.",
	Shown: func(string) string { return "Slack" },
	Body:  func(m *Message, _ string) rawjson.Value { return slackText(m) },
}

// slackEscapes are the characters that Slack gives a meaning: without them a
// response could mention people or show links under another name.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slackText(m *Message) rawjson.Value {
	text := slackEscapes.Replace(headline(m) + "\n" + strings.Join(lines(m), "\n"))
	if m.Link != "" {
		text += "\n<" + m.Link + ">"
	}
	return encode(struct {
		Text string `json:"text"`
	}{text})
}

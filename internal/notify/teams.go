package notify

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// teams posts to a webhook of Microsoft Teams: one that the template "Send webhook alerts
// to a channel" of Workflows makes. It takes an Adaptive Card as an attachment of a
// message (https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using).
var teams = Channel{
	Number: 6, Name: "teams", Label: "Microsoft Teams", Hint: "URLs of Workflows webhooks, one per line.",
	Placeholder: "URL", Help: "Send to this Workflows webhook of Microsoft Teams; may be repeated.",
	Shown: func(string) string { return "Microsoft Teams" },
	Body:  func(m *Message, _ string) rawjson.Value { return encode(teamsMessage(m)) },
}

type teamsText struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
}

// teamsBlock is a RichTextBlock. Unlike a TextBlock it takes no Markdown: a response can
// neither show links under another name nor mention people.
type teamsBlock struct {
	Type    string      `json:"type"`
	Inlines []teamsText `json:"inlines"`
}

type teamsAction struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

type teamsCard struct {
	Schema  string        `json:"$schema"`
	Type    string        `json:"type"`
	Version string        `json:"version"`
	Body    []teamsBlock  `json:"body"`
	Actions []teamsAction `json:"actions,omitempty"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	Content     teamsCard `json:"content"`
}

type teamsMessageBody struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

func teamsMessage(m *Message) teamsMessageBody {
	card := teamsCard{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Body: []teamsBlock{teamsLine(headline(m), "Bolder"), teamsLine(strings.Join(lines(m), "\n"), "")},
	}
	if m.Link != "" {
		card.Actions = []teamsAction{{"Action.OpenUrl", "Open the job", m.Link}}
	}
	return teamsMessageBody{"message", []teamsAttachment{{"application/vnd.microsoft.card.adaptive", card}}}
}

func teamsLine(text, weight string) teamsBlock {
	return teamsBlock{"RichTextBlock", []teamsText{{"TextRun", text, weight}}}
}

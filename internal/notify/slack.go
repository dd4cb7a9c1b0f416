package notify

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Slack formats messages for Slack's incoming webhooks, which Mattermost and
// others also take: {"text": …}.
type Slack struct{}

// slackEscapes are the characters that Slack gives a meaning: without them a
// response could mention people or show links under another name.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Body implements Channel.
func (Slack) Body(m *Message) rawjson.Value {
	text := slackEscapes.Replace(headline(m) + "\n" + strings.Join(lines(m), "\n"))
	if m.Link != "" {
		text += "\n<" + m.Link + ">"
	}
	return encode(struct {
		Text string `json:"text"`
	}{text})
}

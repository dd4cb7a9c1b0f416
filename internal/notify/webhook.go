package notify

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// webhook posts JSON, like the events of a job's webhook.
var webhook = Channel{
	Number: job.AlertWebhook, Name: "webhook", Label: "Webhooks", Hint: "URLs, one per line. Messages are signed.",
	Placeholder: "URL", Help: "Send to this webhook; may be repeated.",
	Shown: job.Host,
	Body:  func(m *Message, _ string) rawjson.Value { return webhookEvent(m) },
}

type webhookBody struct {
	Type      string      `json:"type"`
	Timestamp string      `json:"timestamp"`
	Data      webhookData `json:"data"`
}

type webhookData struct {
	Alert    string         `json:"alert"`
	Schedule *uuid.UUID     `json:"schedule"`
	Job      *int64         `json:"job"`
	Failures int            `json:"failures"`
	Status   *int           `json:"status"`
	Error    *Error         `json:"error"`
	Excerpt  *string        `json:"excerpt"`
	URL      *string        `json:"url"`
	Reason   string         `json:"reason,omitempty"`
	Merged   map[string]int `json:"merged,omitempty"`
}

func webhookEvent(m *Message) rawjson.Value {
	data := webhookData{Alert: m.Alert, Failures: m.Failures, Status: m.Detail.Status, Error: m.Detail.Error, Reason: m.Detail.Reason,
		Merged: m.Merged}
	if m.Schedule != uuid.Nil {
		data.Schedule = &m.Schedule
	}
	if m.Job != 0 {
		data.Job = &m.Job
	}
	if m.Detail.Excerpt != "" {
		data.Excerpt = &m.Detail.Excerpt
	}
	if m.Detail.URL != "" {
		data.URL = &m.Detail.URL
	}
	return encode(webhookBody{Type: m.Type, Timestamp: job.FormatTime(m.At), Data: data})
}

package notify

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Webhook formats messages as JSON, like the events of a job's webhook.
type Webhook struct{}

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

// Body implements Channel.
func (Webhook) Body(m *Message) rawjson.Value {
	data := webhookData{Alert: m.Alert, Failures: m.Failures, Status: m.Detail.Status, Error: m.Detail.Error, Reason: m.Detail.Reason, Merged: m.Merged}
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

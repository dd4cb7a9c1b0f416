package notify

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// mailto is the scheme of targets that get e-mails.
const mailto = "mailto:"

// mail sends e-mails; their sender encodes them. The body of the delivery is a Letter.
var mail = Channel{
	Number: job.AlertMail, Name: "email", Label: "E-mail", Hint: "Addresses, one per line. Their owners may be asked to confirm first.",
	Placeholder: "ADDRESS", Help: "Send an e-mail; may be repeated.",
	Target: func(text string) string { return mailto + text },
	Text:   func(target string) string { return strings.TrimPrefix(target, mailto) },
	Shown:  func(target string) string { return strings.TrimPrefix(target, mailto) },
	Body:   func(m *Message, _ string) rawjson.Value { return letterOf(m) },
}

// Letter is the body of an e-mail's delivery.
type Letter struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

func letterOf(m *Message) rawjson.Value {
	all := append([]string{headline(m), ""}, lines(m)...)
	if m.Link != "" {
		all = append(all, "", m.Link)
	}
	if m.Unsent > 0 {
		all = append(all, "", fmt.Sprintf("%d e-mails of the hour before were not sent: the account had reached its limit of %d an hour.",
			m.Unsent, MaxMails))
	}
	footer := "This e-mail was sent by an alert of a punctual service"
	if m.Account != uuid.Nil {
		footer += ", of the account " + m.Account.String()
	}
	all = append(all, "", "-- ", footer+". If you did not ask for it, report the account to whoever runs the service.")
	return encode(Letter{Subject: subject(m), Text: strings.Join(all, "\n")})
}

// subject returns the subject of an e-mail. It has nothing that an account has
// written: names, tags and URLs could make it somebody else's message.
func subject(m *Message) string {
	switch {
	case m.Type == Merged, m.Type == Test:
	case m.Schedule != uuid.Nil:
		return "Alert: schedule " + m.Schedule.String() + " " + verbs[m.Type]
	default:
		return "Alert: job " + strconv.FormatInt(m.Job, 10) + " " + verbs[m.Type]
	}
	if m.Type == Merged {
		return "Alert: several messages"
	}
	return "Alert: test"
}

// verbs say what has happened to a schedule or a job.
var verbs = map[string]string{
	Failed: "failed", Recovered: "recovered", Late: "is late", Skipped: "has passed over due times", Ended: "has ended",
}

// MaxMails is how many e-mails the alerts of an account send in an hour.
const MaxMails = 60

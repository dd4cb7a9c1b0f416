package notify

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// pagerDutyEvents is where PagerDuty takes events, routingKey the query parameter of a
	// target that has the integration key. A target never leaves with it.
	pagerDutyEvents = "https://events.pagerduty.com/v2/enqueue"
	routingKey      = "routing_key"
	// maxSummary is how long a summary may be, in bytes.
	maxSummary = 1024
)

// pagerDuty sends events to PagerDuty's Events API v2
// (https://developer.pagerduty.com/docs/events-api-v2/overview/). A failure opens an
// incident, which its recovery resolves.
var pagerDuty = Channel{
	Number: 7, Name: "pagerduty", Label: "PagerDuty",
	Hint:        "Integration keys of the Events API v2, or URLs with routing_key, one per line.",
	Placeholder: "KEY", Help: "Send to this integration key of PagerDuty's Events API v2; may be repeated.",
	Why: func(text string) string {
		if _, key := splitKey(pagerDutyTarget(text)); !integrationKey.MatchString(key) {
			return "must be an integration key of PagerDuty, 20 to 64 letters and digits, or the URL of an Events API v2 with routing_key"
		}
		return ""
	},
	Target: pagerDutyTarget,
	Text: func(target string) string {
		if key, ok := strings.CutPrefix(target, pagerDutyEvents+"?"+routingKey+"="); ok && !strings.ContainsAny(key, "&%+#") {
			return key
		}
		return target
	},
	Shown: func(string) string { return "PagerDuty" },
	Endpoint: func(target string) string {
		endpoint, _ := splitKey(target)
		return endpoint
	},
	Body: func(m *Message, target string) rawjson.Value {
		_, key := splitKey(target)
		return encode(pagerDutyEvent(m, key))
	},
}

// integrationKey matches keys of PagerDuty's services.
var integrationKey = regexp.MustCompile(`^[A-Za-z0-9]{20,64}$`)

func pagerDutyTarget(text string) string {
	if strings.Contains(text, "/") {
		return text
	}
	return pagerDutyEvents + "?" + routingKey + "=" + url.QueryEscape(text)
}

// splitKey returns a target without the integration key, and the key.
func splitKey(target string) (endpoint, key string) {
	u, err := url.Parse(target)
	if err != nil {
		return target, ""
	}
	query := u.Query()
	key = query.Get(routingKey)
	query.Del(routingKey)
	u.RawQuery = query.Encode()
	return u.String(), key
}

type pagerDutyPayload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp time.Time         `json:"timestamp"`
	Details   map[string]string `json:"custom_details"`
}

type pagerDutyLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

type pagerDutyBody struct {
	RoutingKey string           `json:"routing_key"`
	Action     string           `json:"event_action"`
	DedupKey   string           `json:"dedup_key"`
	Client     string           `json:"client"`
	Payload    pagerDutyPayload `json:"payload"`
	Links      []pagerDutyLink  `json:"links,omitempty"`
}

func pagerDutyEvent(m *Message, key string) pagerDutyBody {
	event := pagerDutyBody{RoutingKey: key, Action: "trigger", DedupKey: incident(m), Client: "punctual", Payload: pagerDutyPayload{
		Summary: Cut(headline(m), maxSummary), Source: "punctual", Severity: "warning", Timestamp: m.At, Details: map[string]string{},
	}}
	for _, line := range lines(m) {
		name, text, _ := strings.Cut(line, ": ")
		event.Payload.Details[name] = text
	}
	switch m.Type {
	case Failed:
		event.Payload.Severity = "error"
	case Recovered:
		event.Action = "resolve"
	case Test:
		event.Payload.Severity = "info"
	}
	if m.Link != "" {
		event.Links = []pagerDutyLink{{m.Link, "Open the job"}}
	}
	return event
}

// incident returns what an event and the one that resolves it have in common.
func incident(m *Message) string {
	of, kind := "jobs", strings.TrimPrefix(m.Type, "alert.")
	switch {
	case m.Schedule != uuid.Nil:
		of = m.Schedule.String()
	case m.Type == Late:
		of = strconv.FormatInt(m.Job, 10)
	}
	if m.Type == Recovered {
		kind = strings.TrimPrefix(Failed, "alert.")
	}
	return strings.Join([]string{"punctual", m.Account.String(), m.Alert, of, kind}, "/")
}

package notify

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/job"
)

func TestChannels_AreWhole(t *testing.T) {
	numbers, receiver := map[job.Channel]string{job.Callback: "callback", job.Webhook: "webhook of a job"},
		reflect.TypeFor[client.AlertReceiver]()
	var fields []string
	for i := range receiver.NumField() {
		name, _, _ := strings.Cut(receiver.Field(i).Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	if !reflect.DeepEqual(fields, ChannelNames()) {
		t.Errorf("client.AlertReceiver has the members %v; the channels are %v", fields, ChannelNames())
	}
	for _, c := range Channels {
		if other := numbers[c.Number]; other != "" {
			t.Errorf("%s and %s have the same number", c.Name, other)
		}
		numbers[c.Number] = c.Name
		for name, text := range map[string]string{"name": c.Name, "label": c.Label, "hint": c.Hint, "placeholder": c.Placeholder,
			"help": c.Help} {
			if text == "" {
				t.Errorf("%s has no %s", c.Name, name)
			}
		}
		for _, text := range []string{"https://example.com/x?routing_key=R0123456789012345678", "R0123456789012345678"} {
			if got := c.TextOf(c.TargetOf(text)); got != text {
				t.Errorf("%s names the receiver %s as %s", c.Name, text, got)
			}
		}
		if ChannelOf(c.Number) != c || ChannelNamed(c.Name) != c {
			t.Errorf("%s is not found by its number or its name", c.Name)
		}
	}
}

func TestTeams_Body(t *testing.T) {
	want := `{"type":"message","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive","content":{` +
		`"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","type":"AdaptiveCard","version":"1.4","body":[` +
		`{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"[nightly] failed 3 times in a row: Nightly report","weight":"Bolder"}]},` +
		`{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"schedule: 0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e\njob: 29180\nurl: https://example.com/report\n` +
		`status: 503\nerror: answer: no space left\nresponse: {\"error\":\"no space left\"}\ntime: 2026-11-22 08:09:10 UTC"}]}],` +
		`"actions":[{"type":"Action.OpenUrl","title":"Open the job","url":"https://punctual.example.com/jobs/29180"}]}}]}`
	if got := string(teams.Body(failed(), "")); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

const key = "R0123456789012345678901234567890"

func TestPagerDuty_Body(t *testing.T) {
	want := `{"routing_key":"` + key + `","event_action":"trigger","dedup_key":"punctual/bd2aa099-6eb7-4dbb-9178-32141def1355/nightly/0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e/failed",` +
		`"client":"punctual","payload":{"summary":"[nightly] failed 3 times in a row: Nightly report","source":"punctual","severity":"error","timestamp":"2026-11-22T08:09:10.123456Z",` +
		`"custom_details":{"error":"answer: no space left","job":"29180","response":"{\"error\":\"no space left\"}","schedule":"0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e","status":"503",` +
		`"time":"2026-11-22 08:09:10 UTC","url":"https://example.com/report"}},"links":[{"href":"https://punctual.example.com/jobs/29180","text":"Open the job"}]}`
	target := pagerDuty.TargetOf(key)
	if got := string(pagerDuty.Body(failed(), target)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if endpoint := pagerDuty.EndpointOf(target); endpoint != pagerDutyEvents {
		t.Errorf("the event is sent to %s; expected %s, without the key", endpoint, pagerDutyEvents)
	}
}

// A recovery must resolve what the failure has opened, and nothing else.
func TestPagerDuty_RecoveryResolvesTheFailure(t *testing.T) {
	event := func(kind string, change func(*Message)) (e pagerDutyBody) {
		m := failed()
		if m.Type = kind; change != nil {
			change(m)
		}
		if err := json.Unmarshal(pagerDuty.Body(m, pagerDuty.TargetOf(key)), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	opened, resolved := event(Failed, nil), event(Recovered, nil)
	if opened.Action != "trigger" || resolved.Action != "resolve" || opened.DedupKey != resolved.DedupKey {
		t.Errorf("the failure is %+v, the recovery %+v", opened, resolved)
	}
	others := []pagerDutyBody{
		event(Late, nil), event(Skipped, nil), event(Ended, nil), event(Test, nil), event(Failed, func(m *Message) { m.Alert = "daily" }),
		event(Failed, func(m *Message) { m.Schedule[0]++ }), event(Failed, func(m *Message) { m.Account[0]++ }),
	}
	for _, other := range others {
		if other.DedupKey == opened.DedupKey || other.Action != "trigger" {
			t.Errorf("another event has the incident of the failure: %+v", other)
		}
	}
}

func TestPagerDuty_Why(t *testing.T) {
	for text, ok := range map[string]bool{
		key: true, "": false, "short": false, key + key + key: false, "R0123456789 12345678901234567890": false,
		"https://events.eu.pagerduty.com/v2/enqueue?routing_key=" + key: true, "https://events.eu.pagerduty.com/v2/enqueue": false,
		"https://example.com/?routing_key=" + key + "%0a": false, "://": false,
	} {
		if why := pagerDuty.Why(text); (why == "") != ok {
			t.Errorf("%q: %q", text, why)
		}
	}
}

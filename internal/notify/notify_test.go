package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

var (
	at       = time.Date(2026, 11, 22, 8, 9, 10, 123456000, time.UTC)
	schedule = uuid.MustParse("0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e")
	account  = uuid.MustParse("bd2aa099-6eb7-4dbb-9178-32141def1355")
)

// failed returns a message of a schedule's failure, with everything that a message
// can have.
func failed() *Message {
	status := 503
	return &Message{
		Type: Failed, At: at, Alert: "nightly", Account: account, Schedule: schedule, Job: 29180, Failures: 3,
		Detail: Detail{
			Name: "Nightly report", Status: &status, Error: &Error{Kind: "answer", Message: "no space left"},
			Excerpt: `{"error":"no space left"}`, URL: "https://example.com/report?token=abc",
		},
		Link: "https://punctual.example.com/jobs/29180",
	}
}

func TestWebhook_Body(t *testing.T) {
	for name, test := range map[string]struct {
		message *Message
		want    string
	}{
		"everything": {failed(), `{"type":"alert.failed","timestamp":"2026-11-22T08:09:10.123456Z","data":{"alert":"nightly","schedule":"0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e","job":29180,"failures":3,"status":503,"error":{"kind":"answer","message":"no space left"},"excerpt":"{\"error\":\"no space left\"}","url":"https://example.com/report?token=abc"}}`},
		"a test": {&Message{Type: Test, At: at, Alert: "nightly"},
			`{"type":"alert.test","timestamp":"2026-11-22T08:09:10.123456Z","data":{"alert":"nightly","schedule":null,"job":null,"failures":0,"status":null,"error":null,"excerpt":null,"url":null}}`},
		"merged": {&Message{Type: Merged, At: at, Alert: "nightly", Merged: map[string]int{Late: 2, Failed: 40}},
			`{"type":"alert.merged","timestamp":"2026-11-22T08:09:10.123456Z","data":{"alert":"nightly","schedule":null,"job":null,"failures":0,"status":null,"error":null,"excerpt":null,"url":null,"merged":{"alert.failed":40,"alert.late":2}}}`},
	} {
		if got := string(webhook.Body(test.message, "")); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

func TestSlack_Body(t *testing.T) {
	want := `{"text":"[nightly] failed 3 times in a row: Nightly report\nschedule: 0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e\njob: 29180\nurl: https://example.com/report\nstatus: 503\nerror: answer: no space left\nresponse: {\"error\":\"no space left\"}\ntime: 2026-11-22 08:09:10 UTC\n<https://punctual.example.com/jobs/29180>"}`
	if got := string(slack.Body(failed(), "")); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestSlack_TargetsCanNotMentionOrLink has a target whose response, and a user whose
// name of a job, use the characters that Slack gives a meaning.
func TestSlack_TargetsCanNotMentionOrLink(t *testing.T) {
	m := failed()
	m.Link, m.Detail.Name = "", "<!channel> & co"
	m.Detail.Excerpt, m.Detail.Error.Message = "<https://evil.example.com|the report>", "<@U123>"
	var body struct{ Text string }
	if err := json.Unmarshal(slack.Body(m, ""), &body); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(body.Text, "<>") || !strings.Contains(body.Text, "&lt;!channel&gt; &amp; co") {
		t.Errorf("the text is %s", body.Text)
	}
}

func letter(t *testing.T, m *Message) Letter {
	t.Helper()
	var l Letter
	if err := json.Unmarshal(mail.Body(m, ""), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestMail_Body(t *testing.T) {
	const footer = "\n\n-- \nThis e-mail was sent by an alert of a punctual service, of the account bd2aa099-6eb7-4dbb-9178-32141def1355. If you did not ask for it, report the account to whoever runs the service."
	details := strings.Join([]string{
		"schedule: 0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e", "job: 29180", "url: https://example.com/report", "status: 503",
		"error: answer: no space left", `response: {"error":"no space left"}`, "time: 2026-11-22 08:09:10 UTC",
	}, "\n")
	m := failed()
	want := Letter{"Alert: schedule 0199d2a5-3f52-7c1e-9d8e-4b0f5a6c7d8e failed",
		"[nightly] failed 3 times in a row: Nightly report\n\n" + details + "\n\nhttps://punctual.example.com/jobs/29180" + footer}
	if got := letter(t, m); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	m.Unsent, m.Link = 7, ""
	want.Text = "[nightly] failed 3 times in a row: Nightly report\n\n" + details +
		"\n\n7 e-mails of the hour before were not sent: the account had reached its limit of 60 an hour." + footer
	if got := letter(t, m); got != want {
		t.Errorf("with e-mails held back\n got %q\nwant %q", got, want)
	}
}

// TestMail_SubjectHasNothingOfTheAccount: it says what happened by numbers and ids.
func TestMail_SubjectHasNothingOfTheAccount(t *testing.T) {
	for want, m := range map[string]*Message{
		"Alert: job 7 failed": {Type: Failed, Job: 7, Failures: 2, Detail: Detail{Name: "buy now", URL: "https://buy.example/now"}},
		"Alert: schedule " + schedule.String() + " recovered": {Type: Recovered, Job: 7, Schedule: schedule,
			Detail: Detail{Name: "buy now"}},
		"Alert: job 7 is late": {Type: Late, Job: 7, Detail: Detail{Name: "buy now"}},
		"Alert: schedule " + schedule.String() + " has passed over due times": {Type: Skipped, Job: 7, Schedule: schedule,
			Detail: Detail{Name: "buy now"}},
		"Alert: schedule " + schedule.String() + " has ended": {Type: Ended, Job: 7, Schedule: schedule,
			Detail: Detail{Name: "buy now", Reason: "failures"}},
		"Alert: several messages": {Type: Merged, Merged: map[string]int{Failed: 40, Late: 2}},
		"Alert: test":             {Type: Test},
	} {
		if m.Alert = "buy"; letter(t, m).Subject != want {
			t.Errorf("the subject is %q, want %q", letter(t, m).Subject, want)
		}
	}
}

// hostile returns a message whose foreign texts are long and contain text.
func hostile(text string) *Message {
	long := strings.Repeat(text, 4000)
	m := failed()
	m.Detail.Name, m.Detail.URL, m.Detail.Excerpt = long, "https://example.com/"+long, long
	m.Detail.Error = &Error{Kind: "answer", Message: long}
	return m
}

// TestMessages_ForeignTextsAddNoLines sends what a target or a user may have put
// into a text: ends of lines, also Unicode's, and other control characters.
func TestMessages_ForeignTextsAddNoLines(t *testing.T) {
	for _, text := range []string{"\r\nBcc: victim@example.com\r\n", "\n.\n", "\x00\x1b[31m", "\u0085x", "\u2028x\u2029", "\r"} {
		m := hostile(text)
		l := letter(t, m)
		if strings.ContainsAny(l.Subject, "\r\n\x00\x1b\u0085\u2028\u2029") {
			t.Errorf("%q: the subject is %q", text, l.Subject)
		}
		if got, want := strings.Count(l.Text, "\n"), strings.Count(letter(t, failed()).Text, "\n"); got != want ||
			strings.ContainsAny(l.Text, "\r\x00\x1b\u0085\u2028\u2029") {
			t.Errorf("%q: the text has %d lines, want %d: %q", text, got, want, l.Text)
		}
		var message struct{ Text string }
		if err := json.Unmarshal(slack.Body(m, ""), &message); err != nil ||
			strings.ContainsAny(message.Text, "\r\x00\x1b\u0085\u2028\u2029") || strings.Count(message.Text, "\n") != 8 {
			t.Errorf("%q: Slack gets %q, %v", text, message.Text, err)
		}
	}
}

// TestMessages_AreBounded has texts of hundreds of kilobytes, of characters of
// several bytes and of ones that Slack's escapes lengthen.
func TestMessages_AreBounded(t *testing.T) {
	for _, text := range []string{"xxxxxxxxxx", "é", "日本", "\xff\xfe", "<&>", "\""} {
		m := hostile(text)
		for _, channel := range Channels {
			if channel.Number == job.AlertWebhook {
				continue // it gets what the tracker has cut
			}
			name, body := channel.Name, channel.Body(m, "")
			if len(body) > 12_000 || !utf8.Valid(body) || !json.Valid(body) {
				t.Errorf("%s of %q has %d bytes; valid UTF-8 %t, valid JSON %t", name, text, len(body), utf8.Valid(body), json.Valid(body))
			}
		}
		if subject := letter(t, m).Subject; len(subject) > 200 {
			t.Errorf("the subject of %q has %d bytes", text, len(subject))
		}
	}
}

// TestMessages_DoNotShowQueries: channels and mailboxes have many readers.
func TestMessages_DoNotShowQueries(t *testing.T) {
	for _, channel := range Channels {
		if channel.Number == job.AlertWebhook {
			continue // one program reads it
		}
		name, body := channel.Name, channel.Body(failed(), "")
		if strings.Contains(string(body), "token") {
			t.Errorf("%s shows the query: %s", name, body)
		}
	}
}

func TestCut_KeepsCharactersWhole(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"日本", 5, "日"}, {"日本", 2, ""}, {"a\xffb", 9, "ab"},
		{"", 0, ""},
	} {
		if got := Cut(test.text, test.most); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.most, got, test.want)
		}
	}
}

package e2e

import (
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// strangers returns a service with open sign-up that sends e-mails, and its mail
// server.
func strangers(t *testing.T, opts ...harness.Option) (*harness.Service, *harness.MailServer) {
	t.Helper()
	m := harness.NewMailServer(t, false, true)
	opts = append(opts, harness.Flag("signup", "open"), harness.Flag("smtp-url", "smtp://"+m.Addr),
		harness.Flag("smtp-from", "alerts@example.com"),
		harness.Flag("trusted-proxies", "127.0.0.1"))
	s := harness.Start(t, opts...)
	s.Account(t) // so that those who sign up are strangers
	return s, m
}

var confirming = harness.Flag("public-url", "https://punctual.example.com")

// signedUp signs up as anyone can, and returns a client with a key.
func signedUp(t *testing.T, s *harness.Service, email string) *harness.Client {
	t.Helper()
	if status, _ := signUp(t, s, email, "", "192.0.2.7"); status != http.StatusOK {
		t.Fatalf("signing up is answered with %d", status)
	}
	_, key := s.NewKey(t, email)
	return s.Client(t, key)
}

// lettersOf returns the e-mails of alerts, without those that ask who signs up.
func lettersOf(m *harness.MailServer) []harness.Letter {
	return slices.DeleteFunc(m.Letters(), func(l harness.Letter) bool {
		return strings.Contains(l.Data, "Subject: Please confirm your email address")
	})
}

func alertTo(addresses ...string) string {
	var to []string
	for _, a := range addresses {
		to = append(to, `{"email":"`+a+`"}`)
	}
	return `{"on":["failed"],"match":{"tags":["x"]},"to":[` + strings.Join(to, ",") + `]}`
}

var mailLink = regexp.MustCompile(`https://punctual\.example\.com(/alert-mail/[\w-]{43})`)

// linkOf returns the path of the link in a question, whose text must have nothing that
// an account has written.
func linkOf(t *testing.T, l harness.Letter) string {
	t.Helper()
	parsed, err := mail.ReadMessage(strings.NewReader(l.Data))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if err != nil {
		t.Fatal(err)
	}
	link := mailLink.FindStringSubmatch(string(body))
	if link == nil || parsed.Header.Get("Subject") != "Please confirm alerts by e-mail" || strings.Contains(l.Data, "spam") ||
		strings.Contains(l.Data, "eve@") {
		t.Fatalf("the question is\n%s", l.Data)
	}
	return link[1]
}

// openLink requests the page of a link: with an answer, it posts the form.
func openLink(t *testing.T, s *harness.Service, path, answer string) (status int, page string) {
	t.Helper()
	method, body := http.MethodGet, ""
	if answer != "" {
		method, body = http.MethodPost, url.Values{"answer": {answer}}.Encode()
	}
	request, err := http.NewRequest(method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "punctual.example.com"
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-Forwarded-Proto", "https")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// testOf sends a test of an alert and returns what its first receiver said.
func testOf(c *harness.Client, name string) harness.JSON {
	return c.Post("/api/alerts/"+name+"/test", nil).Want(200).Data().Get("results").Items()[0]
}

func TestAlertMail_OfStrangersNeedsConfirmation(t *testing.T) {
	t.Parallel()
	s, m := strangers(t, confirming)
	eve := signedUp(t, s, "eve@example.com")
	target := harness.SharedTarget(t).Route(t)
	eve.Do("PUT", "/api/alerts/spam", alertTo("Victim@example.net")).Want(201)
	eve.Do("PUT", "/api/alerts/spam", alertTo("victim@example.net")).Want(200)
	eve.Do("PUT", "/api/alerts/spam2", alertTo("victim+1@example.net")).Want(201)
	finish(t, eve, target, 500, `"name":"spam","tags":["x"]`)
	if got := testOf(eve, "spam"); got.Get("error.kind").Str() != "blocked" || !strings.Contains(got.Get("error.message").Str(),
		"has not confirmed yet") {
		t.Errorf("a test says %s", got.Raw())
	}
	if got := testOf(eve, "spam2"); !strings.Contains(got.Get("error.message").Str(), "was not asked") {
		t.Errorf("a test says %s", got.Raw())
	}
	// The failed job's message may have asked, whose e-mail is then still on its way.
	harness.Eventually(t, soon, "the question", func() bool { return len(lettersOf(m)) > 0 })
	if n := len(lettersOf(m)); n != 1 {
		t.Fatalf("%d e-mails were sent, want one question", n)
	}
	// The failed job's message was given up, not kept for later.
	link := linkOf(t, lettersOf(m)[0])
	for range 2 {
		if status, page := openLink(t, s, link, ""); status != 200 || !strings.Contains(page, "eve@example.com") ||
			!strings.Contains(page, "Send me these alerts") {
			t.Errorf("the page is %d\n%s", status, page)
		}
	}
	if got := testOf(eve, "spam"); got.Get("error.kind").Str() != "blocked" {
		t.Errorf("opening the page has confirmed: %s", got.Raw())
	}
	for path, want := range map[string]int{link[:len(link)-1] + "_": 404, link[:20]: 404, link + "x": 404} {
		if status, _ := openLink(t, s, path, "confirm"); status != want && path != link {
			t.Errorf("%s is answered with %d", path, status)
		}
	}
	if status, _ := openLink(t, s, link, "confirm"); status != 303 {
		t.Fatalf("confirming is answered with %d", status)
	}
	if got := testOf(eve, "spam"); got.Get("status").Int() != 250 {
		t.Errorf("after the confirmation: %s", got.Raw())
	}
	// It holds for this account only, and ends with the same link.
	other := signedUp(t, s, "eve2@example.com")
	other.Do("PUT", "/api/alerts/spam", alertTo("victim@example.net")).Want(201)
	if got := testOf(other, "spam"); got.Get("error.kind").Str() != "blocked" {
		t.Errorf("another account: %s", got.Raw())
	}
	if status, _ := openLink(t, s, link, "refuse"); status != 303 {
		t.Fatalf("refusing is answered with %d", status)
	}
	if got := testOf(eve, "spam"); !strings.Contains(got.Get("error.message").Str(), "refused") {
		t.Errorf("after the refusal: %s", got.Raw())
	}
	// A refusal holds for the accounts that the operator has made, too.
	known := s.Account(t).Client
	known.Do("PUT", "/api/alerts/a", alertTo("victim@example.net", "friend@example.net")).Want(201)
	results := known.Post("/api/alerts/a/test", nil).Want(200).Data().Get("results").Items()
	if results[0].Get("error.kind").Str() != "blocked" || results[1].Get("status").Int() != 250 {
		t.Errorf("an account of the operator: %s, %s", results[0].Raw(), results[1].Raw())
	}
	if n := len(lettersOf(m)); n != 3 { // the question, a test to who had confirmed, one to the friend
		t.Errorf("%d e-mails were sent, want 3", n)
	}
}

func TestAlertMail_QuestionsAreBounded(t *testing.T) {
	t.Parallel()
	s, m := strangers(t, confirming)
	eve := signedUp(t, s, "eve@example.com")
	var to []string
	for _, name := range strings.Fields("a b c d e f g h") {
		to = append(to, name+"@example.net")
	}
	eve.Do("PUT", "/api/alerts/spam", alertTo(to...)).Want(201)
	testOf(eve, "spam")
	harness.Eventually(t, soon, "the questions", func() bool { return len(lettersOf(m)) >= 5 })
	if n := len(lettersOf(m)); n != 5 {
		t.Errorf("an account has asked %d addresses, want 5", n)
	}
}

func TestAlertMail_WithoutAPublicURL(t *testing.T) {
	t.Parallel()
	s, m := strangers(t, harness.Flag("smtp-trusted-domains", "example.org"))
	eve := signedUp(t, s, "eve@example.com")
	got := eve.Do("PUT", "/api/alerts/a", alertTo("ann@example.org", "ann@example.net")).WantProblem(422).WantPointers("#/to/1/email")
	if !strings.Contains(string(got.Body), "--public-url") {
		t.Errorf("it is refused with %s", got)
	}
	eve.Do("PUT", "/api/alerts/a", alertTo("ann@example.org")).Want(201)
	if got := testOf(eve, "a"); got.Get("status").Int() != 250 {
		t.Errorf("a trusted domain: %s", got.Raw())
	}
	eve.Do("PUT", "/api/alerts/b", alertTo("root@localhost")).WantProblem(422).WantPointers("#/to/0/email")
	s.Account(t).Client.Do("PUT", "/api/alerts/a", alertTo("ann@example.net")).Want(201)
	if n := len(lettersOf(m)); n != 1 {
		t.Errorf("%d e-mails were sent, want 1", n)
	}
}

package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestPeopleSignup_FirstNeedsTheSetupCode(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	code := s.SetupCode(t)
	harness.Eventually(t, soon, "the code in the log", func() bool {
		return strings.Contains(s.Stderr(), `"setup_code":"`+code+`"`)
	})
	// Wrong ones are counted by the network that the proxy names.
	for range 10 {
		if status, _ := signUp(t, s, "eve@example.com", "0000-0000-0000-0000", "192.0.2.1"); status != 422 {
			t.Fatalf("a wrong code is answered with %d", status)
		}
	}
	if status, _ := signUp(t, s, "eve@example.com", code, "192.0.2.1"); status != 429 {
		t.Errorf("the eleventh is answered with %d", status)
	}
	status, cookies := signUp(t, s, "ann@example.com", code, "192.0.2.2")
	if status != 303 || len(cookies) == 0 || !cookies[0].Secure || !strings.HasPrefix(cookies[0].Name, "__Host-") {
		t.Errorf("the first person: %d, %v", status, cookies)
	}
	// The code is of no use any more, and a restart makes no other.
	if status, _ := signUp(t, s, "eve@example.com", code, "192.0.2.3"); status != 403 {
		t.Errorf("a second person is answered with %d", status)
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	written := s.Stdout()
	s.Restart(t)
	awaitReady(t, s)
	if again := strings.TrimPrefix(s.Stdout(), written); strings.Contains(again, "setup code") {
		t.Errorf("it wrote %q", again)
	}
}

// signUp submits the dashboard's form to sign up, from the address that a proxy
// reports.
func signUp(t *testing.T, s *harness.Service, email, code, from string) (status int, cookies []*http.Cookie) {
	t.Helper()
	form := url.Values{"email": {email}, "password": {"correct horse battery"}, "setup": {code}}
	request, err := http.NewRequest(http.MethodPost, s.URL()+"/sign-up", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-Forwarded-For", from)
	request.Header.Set("X-Forwarded-Proto", "https")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Cookies()
}

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestRehearse_EndsWhenItsClientGoesAway has clients leave once their request is written:
// the service gives up the rehearsal, and the account's next one has its turn.
func TestRehearse_EndsWhenItsClientGoesAway(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("log-level", "debug"))
	a := s.Account(t)
	var items []string
	for i := range 1000 {
		items = append(items, fmt.Sprintf(`{"key":"k%d","url":"https://example.com/","cron":"* * * * *","timezone":"Europe/Berlin",`+
			`"limits":["one"],"jitter":59,"retries":3}`, i))
	}
	body := `{"to":"2036-01-01T00:00:00Z","schedules":[` + strings.Join(items, ",") + `]}`
	gone := func() int {
		n := 0
		for line := range strings.Lines(s.Stderr()) {
			if strings.Contains(line, `"route":"/api/rehearse"`) && strings.Contains(line, `"status":499`) {
				n++
			}
		}
		return n
	}
	for i := range 3 {
		ctx, leave := context.WithCancel(t.Context())
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/api/rehearse", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+a.Key)
		r.Header.Set("Content-Type", "application/json")
		if response, err := http.DefaultClient.Do(r); err == nil {
			_ = response.Body.Close()
			t.Fatalf("the rehearsal was answered with %s before its client left", response.Status)
		}
		leave()
		harness.Eventually(t, soon, "the rehearsal to be given up", func() bool { return gone() > i })
	}
	got := rehearsed(t, a.Client, `{"schedules":[{"key":"x","url":"https://example.com/","cron":"@daily"}]}`)
	if got.Get("runs").Raw() != "365" {
		t.Errorf("got %s", got.Raw())
	}
}

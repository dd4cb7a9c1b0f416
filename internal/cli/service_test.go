package cli

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
)

func TestRefusal_ShowsEachProblemOnce(t *testing.T) {
	t.Parallel()
	problems := []client.ProblemEntry{{Detail: "must use https", Pointer: "#/url"}, {Detail: "must be a whole number", Parameter: "limit"}}
	for _, x := range []struct {
		detail   string
		problems []client.ProblemEntry
		want     string
	}{
		{"url must use https", problems[:1], "url must use https"},
		{"url must use https; limit must be a whole number", problems,
			"the service refuses this:\n  url must use https\n  limit must be a whole number"},
		{"url must use https; limit must be a whole number; and 7 more problems", problems,
			"the service refuses this:\n  url must use https\n  limit must be a whole number\n  and 7 more problems"},
		{"nothing was created", problems, "nothing was created\n  url must use https\n  limit must be a whole number"},
	} {
		if got := (&refusal{status: http.StatusUnprocessableEntity, detail: x.detail, problems: x.problems}).Error(); got != x.want {
			t.Errorf("%q is shown as %q, want %q", x.detail, got, x.want)
		}
	}
}

func TestListen_WaitsAsTheServiceAsks(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		err  error
		text string
		wait time.Duration
	}{
		{errors.New("no service"), "no service", time.Second},
		{&refusal{status: 503, detail: "stopping."}, "stopping", time.Second},
		{&refusal{status: 503, detail: "stopping", retryAfter: "5"}, "stopping", 5 * time.Second},
		{&refusal{status: 429, detail: "too many", retryAfter: "99999999999999"}, "too many", time.Minute},
		{&refusal{status: 429, detail: "too many", retryAfter: "9999999999999999999999"}, "too many", time.Minute},
		{fmt.Errorf("a proxy: %w", &refusal{status: 429, detail: "too many", retryAfter: "soon"}), "too many", time.Second},
	} {
		if text, wait := afterRefusal(x.err, time.Second); text != x.text || wait != x.wait {
			t.Errorf("after %v it prints %q and waits %v, want %q and %v", x.err, text, wait, x.text, x.wait)
		}
	}
}

package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
)

func openPunctuality(config *Config, _ *auth.PeopleConfig) { config.PublicPunctuality = true }

func TestPunctuality_ShowsTheLatenessOfAllAccounts(t *testing.T) {
	var observe func(int64, bool, time.Duration, time.Duration)
	w := newSite(t, false, public, openPunctuality, func(config *Config, _ *auth.PeopleConfig) { observe = config.Stats.Observe })
	b := w.browser()
	b.want(b.get("/punctuality"), http.StatusOK, "Last week")
	observe(1, true, 3*time.Second, time.Second)
	w.pass(11 * time.Second)
	b.want(b.get("/punctuality"), http.StatusOK, "3.00 s")
	b.want(b.get("/public/jobs"), http.StatusOK, `href="/punctuality"`)
}

func TestPunctuality_IsForEveryoneOnlyIfTheOperatorSaysSo(t *testing.T) {
	b := newSite(t, false, public).browser()
	b.want(b.get("/punctuality"), http.StatusSeeOther, "/sign-up")
	b.want(b.get("/public/punctuality"), http.StatusNotFound, "There is no page")
	if page := b.get("/public/jobs"); strings.Contains(page.body, "/punctuality") {
		t.Error("a public page links to the page about lateness")
	}
}

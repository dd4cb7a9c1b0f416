package dashboard

import (
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
)

func openPunctuality(config *Config, _ *auth.PeopleConfig) { config.PublicPunctuality = true }

func TestPunctuality_ShowsTheLatenessOfAllAccounts(t *testing.T) {
	var observe func(int64, bool, time.Duration, time.Duration)
	w := newSite(t, false, public, func(config *Config, _ *auth.PeopleConfig) { observe = config.Stats.Observe })
	b := w.browser()
	b.want(b.get("/public/punctuality"), http.StatusOK, "–")
	observe(1, true, 3*time.Second, time.Second)
	w.pass(11 * time.Second)
	b.want(b.get("/public/punctuality"), http.StatusOK, "3.00 s")
	b.want(b.get("/public/jobs"), http.StatusOK, `href="/public/punctuality"`)
}

func TestPunctuality_IsForEveryoneIfTheOperatorSaysSo(t *testing.T) {
	b := newSite(t, false, openPunctuality).browser()
	b.want(b.get("/punctuality"), http.StatusOK, "Last week")
}

func TestPunctuality_OtherwiseAsksToSignIn(t *testing.T) {
	b := newSite(t, false).browser()
	b.want(b.get("/punctuality"), http.StatusSeeOther, "/sign-up")
}

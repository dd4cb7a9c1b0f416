package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestAccountDeletion_StopsEverythingOfTheAccount(t *testing.T) {
	t.Parallel()
	gone, stays := account(t), account(t)
	target := harness.SharedTarget(t)
	never, always, called := target.Route(t), target.Route(t), target.Route(t)
	answer := always.Hold(harness.Status(200))
	underWay := target.Route(t)
	release := underWay.Hold(harness.Status(200))
	create(gone.Client, `{"url":"`+underWay.URL+`","callback_url":"`+called.URL+`","repeat_every":1,"timeout":900}`)
	underWay.Await(t, 1, soon)
	create(gone.Client, `{"url":"`+never.URL+`","schedule_in":15}`)
	create(gone.Client, `{"url":"`+never.URL+`","schedule_in":14,"repeat_every":1}`)
	create(stays.Client, `{"url":"`+always.URL+`","schedule_in":16}`)

	gone.Service.Command(t, "accounts", "delete", gone.Email, "--yes")
	deleted := time.Now()
	harness.Eventually(t, soon, "the key ends", func() bool {
		a, err := gone.Try(http.MethodGet, "/api/jobs", nil)
		return err == nil && a.Status == 401
	})
	// Nodes cache accounts and keys for a second.
	harness.Eventually(t, soon, "the account to be forgotten", func() bool { return time.Since(deleted) > 1100*time.Millisecond })
	release()
	always.Await(t, 1, soon)
	answer()
	for name, r := range map[string]*harness.Route{"a job of it": never, "a callback of it": called} {
		if hits := r.Hits(); len(hits) > 0 {
			t.Errorf("%s was sent %d times after it was deleted", name, len(hits))
		}
	}
	if n := len(underWay.Hits()); n != 1 {
		t.Errorf("what was under way was made %d times", n)
	}
	stays.Get("/api/jobs").Want(200)
	// The email is free again; the new account has none of the old records.
	again := command(t, gone.Service, "accounts", "create", gone.Email, "--json")
	if again.Get("id").Str() == gone.ID {
		t.Error("the new account has the id of the old one")
	}
	_, key := gone.Service.NewKey(t, gone.Email)
	for _, list := range []string{"jobs", "schedules", "logs"} {
		wantSame(t, list, gone.Service.Client(t, key).Get("/api/"+list).Want(200).Data(), "[]")
	}
}

package browser

import (
	"net/url"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// An owner invites a person, who accepts, accepts the invitation of another account, and
// switches between the two.
func TestMembers_InviteAcceptAndSwitch(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	ann := signUp(Open(t, s, Looks[0]))
	ann.Go("/settings/members").Fill("#f-email", "bob@example.com").Wait(`(document.querySelector("#f-role").value = "editor")`)
	ann.ClickOn("Invite").See("Give this link to bob@example.com", "invited").Check()
	link, err := url.Parse(ann.Value(`document.getElementById("join-link").textContent`))
	if err != nil {
		t.Fatal(err)
	}
	ann.Close()
	bob := Open(t, s, Looks[0])
	bob.Go(link.Path).See("You are invited to the account ann@example.com as editor").Check()
	bob.Fill("#f-password", password).ClickOn("Join").At("/").See("You belong to this account now")
	bob.Go("/settings/members").See("ann@example.com", "bob@example.com", "you").NotSee("invited").NotSee("Invite a person")

	team := s.Account(t)
	invited := team.Post("/api/account/members", `{"email": "bob@example.com", "role": "viewer"}`)
	other, err := url.Parse(invited.Want(201).Data().Get("link").Str())
	if err != nil {
		t.Fatal(err)
	}
	bob.Go(other.Path).See("You are invited to the account " + team.Email +
		" as viewer").Check().ClickOn("Join").At("/").See("You belong to this account now")
	// The path stays the same, so what is waited for is the name of the account.
	shows := func(account string) string {
		return `document.querySelector(".top details.menu summary").textContent.includes("` + account + `")`
	}
	bob.Go("/logs").Click(".top details.menu summary").See("bob@example.com, viewer").ClickOn("ann@example.com").
		Wait(shows("ann@example.com")).At("/logs")
	bob.Click(".top details.menu summary").See("bob@example.com, editor").ClickOn(team.Email).Wait(shows(team.Email)).At("/logs")
	bob.Go("/settings/members").See(team.Email, "viewer")
}

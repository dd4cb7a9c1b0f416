package browser

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const password = "correct horse battery"

// signUp makes the first account and leaves the page at the first steps.
func signUp(p *Page) *Page {
	return p.Go("/").At("/sign-up").See("There is no account yet").
		Fill("#f-setup", p.Service.SetupCode(p.t)).Fill("#f-email", "ann@example.com").Fill("#f-password", password).ClickOn("Sign up").
		At("/welcome").See("Copy your new key now")
}

func signIn(p *Page, email string) *Page {
	return p.Go("/sign-in").Fill("#f-email", email).Fill("#f-password", password).ClickOn("Sign in")
}

func TestPeople_InEveryLook(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	first := Open(t, s, Looks[0])
	first.Go("/").At("/sign-up").See("There is no account yet").Check()
	signUp(first).See("Create a job", "over plain http", "Nothing yet").Check()
	for _, look := range Looks {
		t.Run(look.Name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, s, look)
			p.Go("/sign-up").See("Sign-up is closed").Check()
			p.Go("/settings").At("/sign-in?to=%2Fsettings").See("Sign in").Check()
			p.Fill("#f-email", "ann@example.com")
			if look == Looks[0] { // attempts are counted
				p.Expect(401).Fill("#f-password", "wrong").ClickOn("Sign in").See("The email or the password is wrong").Check()
			}
			p.Fill("#f-password", password).ClickOn("Sign in").At("/settings").See("API keys", "first key", "Signing secret",
				"30 days").Check()
			p.Fill("#f-name", "of "+look.Name).ClickOn("Create a key").See("Copy your new key now", "of "+look.Name).Check()
			p.Go("/settings").See("of " + look.Name).NotSee("Copy your new key now")
			p.Go("/operator").See("Health", "firing", "ann@example.com", "Nobody, now that there is an account").Check()
			p.Click("tbody tr:nth-child(2) td a").See("Limits of this account", "Any number of calls a second",
				"You can't suspend it").Check()
			p.Go("/welcome").See("Your account has a key").Check()
			p.Go("/punctuality").See("Last hour", "Last week", "p99.9").Check()
		})
	}
}

// TestWelcome_KeyStaysWhenTheJobIsCreated tests the first steps: the setup code is asked
// for first, and the key that is shown once stays on the page while the first job is
// created, with and without scripts. Nothing is said of https where http is permitted.
func TestWelcome_KeyStaysWhenTheJobIsCreated(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("allow-http-targets", "true"))
	p := Open(t, s, Phone).Go("/sign-up").Wait(`document.activeElement.id === "f-setup"`)
	p.Go("/sign-up?setup=" + s.SetupCode(t)).Wait(`document.activeElement.id === "f-email"`)
	p.Fill("#f-email", "ann@example.com").Fill("#f-password", password).ClickOn("Sign up").At("/welcome").See("Copy your new key now",
		"This job sends a POST to this page").NotSee("over plain http")
	const key = `document.getElementById("new-key").textContent`
	shown := p.Value(key)
	if !strings.HasPrefix(shown, "sk_") {
		t.Fatalf("the page shows the key %q", shown)
	}
	for _, scripts := range []bool{true, false} {
		p.Script(scripts).ClickOn("Create it for me").Script(true).See("The job has been created", "Copy your new key now", shown).Check()
	}
	p.Go("/welcome").NotSee(shown)
}

func TestPeople_SecondFactorInEveryLook(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	signUp(Open(t, s, Looks[0])).Close()
	s.Command(t, "accounts", "create", "bob@example.com") // something in the audit log
	var all []*Page
	for _, look := range Looks {
		p := signIn(Open(t, s, look), "ann@example.com").At("/")
		p.Go("/settings/second-factor").See("You need an authenticator app").Check()
		p.Go("/settings").See("Sessions", "this one", "switched off").Check()
		p.Go("/settings/audit").See("Signed in", "Account created").Check()
		p.Go("/settings/audit?event=account.created").See("Account created", "All events").Check()
		p.Go("/settings/usage").See("Pending jobs", "no limit", "Sessions", "of 100").Check()
		p.Go("/operator/audit").See("Audit log of the service").Check()
		all = append(all, p)
	}
	first := all[0]
	first.Go("/settings/second-factor").Fill("#f-password", password).ClickOn("Set up").See("Scan this code").Check()
	secret := first.Value(`document.getElementById("totp-secret").textContent`)
	for _, p := range all {
		p.Go("/settings/second-factor").See("Scan this code").Check()
	}
	first.Expect(422).Fill("#f-code", "12345").ClickOn("Turn on").See("is not the one that your app should show now").Check()
	first.Fill("#f-code", harness.Authenticator(t, secret, 0)).ClickOn("Turn on").See("Copy these codes now",
		"10 recovery codes are left").Check()
	codes := strings.Fields(first.Value(`document.getElementById("recovery-codes").textContent`))
	for i, p := range all[1:] {
		p.Go("/settings").At("/sign-in?to=%2Fsettings") // it was signed out
		signIn(p, "ann@example.com").At("/sign-in/code").See("Enter the code").Check()
		p.Fill("#f-code", codes[i]).ClickOn("Sign in").At("/")
		p.Go("/settings/second-factor").See("Create new recovery codes").Check()
	}
	first.Go("/settings/second-factor").Click("#disable-factor summary").Fill("#f-password", password).Fill("#f-code", codes[9]).Check().
		ClickOn("Turn off second factor").See("The second factor is switched off").Check()
}

func TestPeople_OperatorSuspendsAnAccount(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	p := signUp(Open(t, s, Looks[0]))
	s.Command(t, "accounts", "create", "bob@example.com")
	p.Go("/operator").ClickOn("bob@example.com").See("None of the jobs of a suspended account run").Check()
	p.Expect(422).Fill("#f-max-stored", "lots").ClickOn("Save limits").See("must be a size like 100MB").Check()
	p.Fill("#f-max-stored", "5MB").ClickOn("Save limits").See("The limits have been saved", "of 5 MB").Check()
	p.ClickOn("Suspend").Fill("#f-reason", "spam").Check().ClickOn("Suspend account").See("The account is suspended", "spam",
		"suspended").Check()
	p.ClickOn("Resume").See("The account is resumed").Check()
}

func TestPeople_FirstJobAppearsWithoutReloading(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	p := signUp(Open(t, s, Looks[0]))
	p.See("Nothing yet").ClickOn("Create it for me").At("/welcome").See("The job has been created").
		Wait(`document.querySelector("#live .arrived > li")`).NotSee("Nothing yet").Check()
	// What an API client makes shows itself, too.
	_, key := s.NewKey(t, "ann@example.com")
	target := harness.SharedTarget(t).Route(t)
	s.Client(t, key).Post("/api/jobs", `{"url":"`+target.URL+`","name":"From the terminal"}`).Want(201)
	p.See("From the terminal", "after it was due", "Completed").Check()
}

func TestPeople_DeleteAnAccountByKeyboard(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	p := signUp(Open(t, s, Looks[0]))
	p.Go("/settings").Click("#delete-account summary").Fill("#delete-password", password).Press("\r").See("The account is deleted").Check()
	p.Expect(401)
	signIn(p, "ann@example.com").See("The email or the password is wrong")
}

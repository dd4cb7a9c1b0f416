package browser

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/ports"
)

// startProvider builds and starts an OpenID provider that sends browsers back to an
// address, and returns its issuer. It ends with the test.
func startProvider(t testing.TB, redirect string) (issuer string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "provider")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Dir = "provider"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the provider: %v\n%s", err, out)
	}
	provider := exec.Command(binary, redirect)
	provider.Stderr = os.Stderr
	input, err := provider.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := provider.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close() // ends it
		_, _ = io.Copy(io.Discard, output)
		_ = provider.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider has not said where it is: %v", err)
	}
	return strings.TrimSpace(line)
}

// atProvider signs in at the provider, which the page has gone to.
func atProvider(p *Page, user, secret string) *Page {
	return p.At("/login/username*").Fill("#username", user).Fill("#password", secret).ClickOn("Login")
}

// Signing in at a real provider, from the button to the account, and the end of it.
func TestProvider_SignInAndRevocation(t *testing.T) {
	t.Parallel()
	address := ports.Free(t)
	issuer := startProvider(t, "http://"+address+"/sign-in/callback")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("the secret of the client"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address),
		harness.Flag("oidc-issuer", issuer),
		harness.Flag("oidc-client-id", "punctual"), harness.Flag("oidc-client-secret-file", file),
		harness.Flag("oidc-allowed-domains", "example.com"),
		harness.Flag("password-sign-in", "false"))
	ann := Open(t, s, Looks[0])
	ann.Go("/schedules").At("/sign-in?to=%2Fschedules").See("single sign-on").NotSee("Password").Check()
	atProvider(ann.ClickOn("Sign in with single sign-on"), "ann", "wrong").See("username or password wrong")
	atProvider(ann, "ann", password).At("/welcome").See("Copy your new key now")
	ann.Go("/settings").See(issuer, "You have no password here").Check()
	ann.Go("/settings/second-factor").See("You have no password here").Check()
	ann.Close()

	bob := Open(t, s, Looks[0])
	bob.Go("/sign-up").See("the account of your organization").Check()
	atProvider(bob.ClickOn("Sign in with single sign-on"), "bob", password).At("/")
	bob.Go("/settings/members").See("ann@example.com", "viewer").NotSee("Invite a person")
	// Who is known no more is signed out at once.
	s.Command(t, "accounts", "reset-sign-in", "bob@example.com")
	bob.Go("/jobs").At("/sign-in?to=%2Fjobs")
	bob.Close()

	// Somebody else with ann's address, which nobody has verified.
	eve := Open(t, s, Looks[0])
	atProvider(eve.Go("/sign-in").Expect(403).ClickOn("Sign in with single sign-on"), "eve", password).
		At("/sign-in/callback*").See("has not verified your email address").Check()
}

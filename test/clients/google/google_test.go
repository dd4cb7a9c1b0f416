package google

import (
	"bufio"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/punctual-dev/punctual/test/clients/clienttest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
	"github.com/punctual-dev/punctual/test/ports"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

var serving = regexp.MustCompile(`(?m)^serving the Google-compatible APIs at (\S+)$`)

func TestGoClients(t *testing.T) {
	t.Parallel()
	for store, options := range map[string][]harness.Option{"sqlite": nil, "postgres": {harness.Flag("database-url", pgtest.URL(t))}} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			address, engine := ports.Free(t), ports.Free(t)
			service := harness.Start(t, append(options, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address),
				harness.SecretsKey(t),
				harness.Flag("allow-http-targets", "true"), harness.Flag("google-listen", "127.0.0.1:0"),
				harness.Flag("app-engine-url", "http://"+engine))...)
			found := serving.FindStringSubmatch(service.Stdout())
			if found == nil {
				t.Fatalf("the service does not say where the APIs are:\n%s", service.Stdout())
			}
			clienttest.Run(t, "gcloud", []string{
				"PUNCTUAL_TEST_GOOGLE=" + found[1], "PUNCTUAL_TEST_KEY=" + service.Account(t).Key,
				"PUNCTUAL_TEST_OTHER_KEY=" + service.Account(t).Key,
				"PUNCTUAL_TEST_APP_ENGINE=" + engine,
			}, "go", "test", "-count=1", "./...")
			if code := service.Stop(); code != 0 {
				t.Errorf("the service ended with status %d", code)
			}
		})
	}
}

func TestNodeClients(t *testing.T) {
	t.Parallel()
	clienttest.Install(t, "node")
	service := harness.Start(t, harness.Flag("allow-http-targets", "true"), harness.Flag("google-listen", "127.0.0.1:0"))
	found := serving.FindStringSubmatch(service.Stdout())
	if found == nil {
		t.Fatalf("the service does not say where the APIs are:\n%s", service.Stdout())
	}
	env := []string{"PUNCTUAL_TEST_GOOGLE=" + found[1], "PUNCTUAL_TEST_KEY=" + service.Account(t).Key}
	clienttest.Run(t, "node", env, "node", "--test", "clients.test.mjs")
}

// TestDev runs some of the tests against punctual dev, with what it prints.
func TestDev(t *testing.T) {
	t.Parallel()
	dev := exec.CommandContext(t.Context(), harness.Binary(t), "dev", "--listen", "127.0.0.1:0", "--google-listen", "127.0.0.1:0", "--keep",
		t.TempDir())
	dev.Cancel = func() error { return dev.Process.Signal(syscall.SIGTERM) }
	out, err := dev.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	printed := map[string]string{}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "listening on ") {
		if name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "="); ok {
			printed[name] = strings.Trim(value, "'")
		}
	}
	clienttest.Run(t, "gcloud", []string{
		"PUNCTUAL_TEST_GOOGLE=" + printed["CLOUD_TASKS_EMULATOR_HOST"], "PUNCTUAL_TEST_KEY=" + printed["PUNCTUAL_API_KEY"],
		"PUNCTUAL_TEST_KEYLESS=1",
		"PUNCTUAL_TEST_APP_ENGINE=" + ports.Free(t),
	}, "go", "test", "-count=1", "-run", "^(TestTaskFields|TestRetries|TestWithoutAKey)$", "./...")
	for name, want := range map[string]string{"PUNCTUAL_URL": "http://127.0.0.1:", "QSTASH_URL": "http://127.0.0.1:", "QSTASH_TOKEN": "ey",
		"QSTASH_CURRENT_SIGNING_KEY": "sig_"} {
		if !strings.HasPrefix(printed[name], want) {
			t.Errorf("%s is %q, want %s…", name, printed[name], want)
		}
	}
	wantSignIn(t, printed["PUNCTUAL_URL"])
	if err := dev.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := dev.Wait(); err != nil {
		t.Errorf("punctual dev ended with %v", err)
	}
}

// wantSignIn signs in to the dashboard of punctual dev with what the guide says.
func wantSignIn(t *testing.T, service string) {
	t.Helper()
	form := url.Values{"email": {"dev@example.com"}, "password": {"punctual-dev"}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, service+"/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", service)
	response, err := http.DefaultTransport.RoundTrip(request) // follows no redirect
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/" {
		t.Errorf("signing in responds %s, to %q", response.Status, response.Header.Get("Location"))
	}
}

func TestDev_ServesThisMachineOnly(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--listen", "--google-listen"} {
		if r := harness.Command(t, nil, "dev", flag, "0.0.0.0:0"); r.Code == 0 ||
			!strings.Contains(r.Stderr, "is not an address of this machine only") {
			t.Errorf("%s: status %d, %s", flag, r.Code, r.Stderr)
		}
	}
}

package google

import (
	"os"
	"regexp"
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
			service := harness.Start(t, append(options, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address), harness.SecretsKey(t),
				harness.Flag("allow-http-targets", "true"), harness.Flag("google-listen", "127.0.0.1:0"), harness.Flag("app-engine-url", "http://"+engine))...)
			found := serving.FindStringSubmatch(service.Stdout())
			if found == nil {
				t.Fatalf("the service does not say where the APIs are:\n%s", service.Stdout())
			}
			clienttest.Run(t, "gcloud", []string{
				"PUNCTUAL_TEST_GOOGLE=" + found[1], "PUNCTUAL_TEST_KEY=" + service.Account(t).Key, "PUNCTUAL_TEST_OTHER_KEY=" + service.Account(t).Key,
				"PUNCTUAL_TEST_APP_ENGINE=" + engine,
			}, "go", "test", "-count=1", "./...")
			if code := service.Stop(); code != 0 {
				t.Errorf("the service ended with status %d", code)
			}
		})
	}
}

package qstash

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/punctual-dev/punctual/test/clients/clienttest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
	"github.com/punctual-dev/punctual/test/ports"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestClient(t *testing.T) {
	clienttest.Install(t, "node")
	for store, options := range map[string][]harness.Option{"sqlite": nil, "postgres": {harness.Flag("database-url", pgtest.URL(t))}} {
		t.Run(store, func(t *testing.T) {
			address := ports.Free(t)
			service := harness.Start(t, append(options, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address),
				harness.Flag("allow-http-targets", "true"), harness.SecretsKey(t))...)
			// An application gets what the command prints, and nothing else.
			var env map[string]string
			printed := service.Command(t, "keys", "qstash", service.Account(t).Email, "--public-url", "http://"+address, "--json")
			if err := json.Unmarshal([]byte(printed), &env); err != nil {
				t.Fatalf("%v: %s", err, printed)
			}
			variables := []string{"QSTASH_DEV=false", "UPSTASH_DISABLE_TELEMETRY=1"}
			for name, value := range env {
				variables = append(variables, name+"="+value)
			}
			clienttest.Run(t, "node", variables, "node", "--test", "application.test.mjs", "identity.test.mjs")
			if code := service.Stop(); code != 0 {
				t.Errorf("the service ended with status %d", code)
			}
		})
	}
}

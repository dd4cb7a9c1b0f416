package workflow

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/punctual-dev/punctual/test/clients/clienttest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
	"github.com/punctual-dev/punctual/test/ports"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestSDK(t *testing.T) {
	clienttest.Install(t, "node")
	for store, options := range map[string][]harness.Option{"sqlite": nil, "postgres": {harness.Flag("database-url", pgtest.URL(t))}} {
		t.Run(store, func(t *testing.T) {
			address := ports.Free(t)
			service := harness.Start(t, append(options, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address),
				harness.Flag("allow-http-targets", "true"))...)
			control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				service.Kill()
				if err := service.Run(); err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
			}))
			defer control.Close()
			// An application gets what the command prints, and nothing else.
			var env map[string]string
			account := service.Account(t)
			printed := service.Command(t, "keys", "qstash", account.Email, "--public-url", "http://"+address, "--json")
			if err := json.Unmarshal([]byte(printed), &env); err != nil {
				t.Fatalf("%v: %s", err, printed)
			}
			variables := []string{"QSTASH_DEV=false", "PUNCTUAL_TEST_STORE=" + store, "PUNCTUAL_TEST_CONTROL=" + control.URL,
				"PUNCTUAL_TEST_OTHER_KEY=" + service.Account(t).Key}
			for name, value := range env {
				variables = append(variables, name+"="+value)
			}
			clienttest.Run(t, "node", variables, "node", "--test", "--test-concurrency=1")
			if code := service.Stop(); code != 0 {
				t.Errorf("the service ended with status %d", code)
			}
		})
	}
}

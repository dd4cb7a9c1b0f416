package nodes

import (
	"fmt"
	"os"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMain(m *testing.M) {
	if server := os.Getenv(makeDatabase); server != "" {
		if err := printDatabase(server); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(harness.Main(m))
}

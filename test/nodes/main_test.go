package nodes

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
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
	// Each test has a cluster of its own; four keep two processors busy.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // -parallel on the command line has precedence
	code := harness.Main(m)
	if suite.dir != "" {
		_ = os.RemoveAll(suite.dir) // leftovers in the temporary directory do no harm
	}
	os.Exit(code)
}

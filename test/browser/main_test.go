package browser

import (
	"os"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMain(m *testing.M) {
	code := harness.Main(m)
	Close()
	os.Exit(code)
}

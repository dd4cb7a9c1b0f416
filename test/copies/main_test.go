package copies

import (
	"os"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

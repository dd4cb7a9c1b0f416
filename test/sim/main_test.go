package sim

import (
	"os"
	"runtime"
	"testing"
)

// One thread runs all goroutines, in an order that follows from the seed.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// Package goclient tests package client and its receivers against the real service.
package goclient

import (
	"os"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// receiverVariable makes this test program a receiver; see receive.
const receiverVariable = "PUNCTUAL_TEST_RECEIVER"

func TestMain(m *testing.M) {
	if os.Getenv(receiverVariable) != "" {
		receive()
		return
	}
	if os.Getenv(shopVariable) != "" {
		shop()
		return
	}
	os.Exit(harness.Main(m))
}

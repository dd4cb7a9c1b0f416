package goclient

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func newClient(t *testing.T, service *harness.Service, account *harness.Account) *client.Client {
	t.Helper()
	_, key := service.NewKey(t, account.Email)
	c, err := client.New(client.Config{URL: service.URL(), Key: key, MaxRetries: 12, MaxWait: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

package receiver

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// sign signs as the service does, with another implementation than the verifier's.
func sign(t *testing.T, header http.Header, id, body string) {
	t.Helper()
	signer, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signature, err := signer.Sign(id, now, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("webhook-signature", signature)
}

package execute

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestSignAgreesWithStandardWebhooks(t *testing.T) {
	now := time.Now()
	for _, body := range [][]byte{nil, []byte("{}"), []byte(strings.Repeat("ü", 5000))} {
		for _, id := range []string{"", "job_41d7f28b-dfbe-44b8-b716-b91898bb0ce0", strings.Repeat("long", 50)} {
			key := []byte("an old key of some length")
			wh, err := standardwebhooks.NewWebhookRaw(key)
			if err != nil {
				t.Fatal(err)
			}
			want, err := wh.Sign(id, now, body)
			if err != nil {
				t.Fatal(err)
			}
			if got := Sign([]Secret{key}, id, now.Unix(), body); got != want {
				t.Errorf("id %q, %d bytes: got %s, want %s", id, len(body), got, want)
			}
		}
	}
}

func TestSignWithSeveralSecrets(t *testing.T) {
	if got := Sign(nil, "msg", 1, nil); got != "" {
		t.Errorf("without secrets: got %q", got)
	}
	secrets := []Secret{[]byte("new"), []byte("old")}
	want := Sign(secrets[:1], "msg", 1, nil) + " " + Sign(secrets[1:], "msg", 1, nil)
	if got := Sign(secrets, "msg", 1, nil); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequestsAreSigned(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := recorder()
		r := get(serve(h))
		r.Method, r.Body = "POST", []byte(`{"a": "ü"}`)
		r.MessageID, r.Secrets = "msg_1", []Secret{[]byte("new"), []byte("old")}
		answered(t, newClient(t), r)
		got := receive(t, requests)
		for _, secret := range r.Secrets {
			wh, _ := standardwebhooks.NewWebhook("whsec_" + base64.StdEncoding.EncodeToString(secret))
			if err := wh.Verify([]byte(got.body), got.Header); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDecodeSecret(t *testing.T) {
	for text, want := range map[string]string{"whsec_a2V5": "key", "whsec_a2V5Mg==": "key2", "whsec_a2V5Mg": "key2"} {
		if got, err := DecodeSecret(text); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", text, []byte(got), err)
		}
	}
	for _, text := range []string{"", "a2V5", "whsec_", "whsec_====", "WHSEC_a2V5", "whsec_a2V5Mh", "whsec_a_-b"} {
		if got, err := DecodeSecret(text); err == nil {
			t.Errorf("%q: got %q", text, []byte(got))
		}
	}
}

func TestSecretDoesNotShow(t *testing.T) {
	s := Secret("hunter2")
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %s %#v", s, s, s), fmt.Sprintf("%v", Request{Secrets: []Secret{s}})} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "104") {
			t.Errorf("the secret shows: %s", text)
		}
	}
}

package execute

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
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
			if got := sign([]Secret{key}, id, now.Unix(), body); got != want {
				t.Errorf("id %q, %d bytes: got %s, want %s", id, len(body), got, want)
			}
		}
	}
}

func TestSignWithSeveralSecrets(t *testing.T) {
	if got := sign(nil, "msg", 1, nil); got != "" {
		t.Errorf("without secrets: got %q", got)
	}
	secrets := []Secret{[]byte("new"), []byte("old")}
	want := sign(secrets[:1], "msg", 1, nil) + " " + sign(secrets[1:], "msg", 1, nil)
	if got := sign(secrets, "msg", 1, nil); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequestsAreSigned(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := recorder()
		r := get(serve(h))
		r.Method, r.Body = "POST", []byte(`{"a": "ü"}`)
		r.MessageID, r.Signing.Secrets = "msg_1", []Secret{[]byte("new"), []byte("old")}
		answered(t, newClient(t), r)
		got := receive(t, requests)
		for _, secret := range r.Signing.Secrets {
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
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %s %#v", s, s, s),
		fmt.Sprintf("%v", Request{Signing: Signing{Secrets: []Secret{s}}})} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "104") {
			t.Errorf("the secret shows: %s", text)
		}
	}
}

func sign(secrets []Secret, id string, unixSeconds int64, body []byte) string {
	s := Signing{Secrets: secrets}
	return s.Sign(id, unixSeconds, body)
}

// TestKey_FormsAreThoseOfStandardWebhooks uses the first key of RFC 8032, section 7.1.
func TestKey_FormsAreThoseOfStandardWebhooks(t *testing.T) {
	seed, _ := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	public, _ := hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	key, err := DecodeKey("whsk_" + base64.StdEncoding.EncodeToString(append(seed, public...)))
	if err != nil || key.Public() != "whpk_"+base64.StdEncoding.EncodeToString(public) {
		t.Fatalf("%s, %v", key, err)
	}
	if again, err := DecodeKey(key.Encode()); err != nil || again.Public() != key.Public() {
		t.Errorf("decoded as %s, %v", again, err)
	}
	for _, text := range []string{"", "whsk_", "whpk_" + key.Encode()[5:], key.Encode()[:50],
		"whsk_" + base64.StdEncoding.EncodeToString(seed)} {
		if _, err := DecodeKey(text); err == nil || len(text) > 10 && strings.Contains(err.Error(), text[5:]) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{fmt.Sprint(key),
		fmt.Sprintf("%v %s %#v %+v", key, key, key, Request{Signing: Signing{Keys: []Key{key}}})} {
		if strings.Contains(text, "157 97") || strings.Contains(text, key.Encode()[5:20]) {
			t.Errorf("the key shows: %s", text)
		}
	}
}

func TestSign_AddsASignatureForEachKey(t *testing.T) {
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"a": "ü"}`)
	s := Signing{Secrets: []Secret{[]byte("new")}, Keys: []Key{key}}
	first, second, _ := strings.Cut(s.Sign("msg_1", 1700000000, body), " ")
	if first != sign(s.Secrets, "msg_1", 1700000000, body) {
		t.Errorf("the first signature is %q", first)
	}
	encoded, ok := strings.CutPrefix(second, "v1a,")
	sum, err := base64.StdEncoding.DecodeString(encoded)
	public, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(key.Public(), "whpk_"))
	if !ok || err != nil || !ed25519.Verify(public, append([]byte("msg_1.1700000000."), body...), sum) {
		t.Errorf("the second signature is %q, %v", second, err)
	}
}

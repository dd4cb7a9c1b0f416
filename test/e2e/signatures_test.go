package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// verifies reports whether a request is signed with a secret according to the
// library that receivers use.
func verifies(t *testing.T, hit harness.Hit, secret string) bool {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return wh.Verify(hit.Body, hit.Header) == nil
}

func wantSigned(t *testing.T, hit harness.Hit, secret string) {
	t.Helper()
	if !verifies(t, hit, secret) {
		t.Errorf("%s %s is not signed with the account's secret: %q", hit.Method, hit.Path, hit.Header)
	}
}

func TestSignature_OfJobsCallbacksAndWebhooksFollowsStandardWebhooks(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"method":"post","body":{"text":"ü\u0000"},"url":"`+target.URL+`/job",
		"callback_url":"`+target.URL+`/callback","webhook_url":"`+target.URL+`/webhook"}`)
	create(a.Client, `{"url":"`+target.URL+`/bodiless"}`)
	for _, hit := range target.Await(t, 7, soon) {
		wantSigned(t, hit, a.Secret)
		if verifies(t, hit, other.Secret) {
			t.Errorf("%s is signed with another account's secret", hit.Path)
		}
		if len(strings.Fields(hit.Header.Get("Webhook-Signature"))) != 2 { // v1 and v1a
			t.Errorf("%s does not carry one signature of each kind: %q", hit.Path, hit.Header)
		}
		if hit.Path == target.Path+"/job" && hit.Header.Get("Webhook-Id") != "job_"+job.Get("id").Str() {
			t.Errorf("the job's message id is %q", hit.Header.Get("Webhook-Id"))
		}
	}
}

func TestSignature_UsesTheOldSecretTooAfterARotation(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	send := func() harness.Hit {
		n := len(target.Hits())
		create(a.Client, `{"url":"`+target.URL+`"}`)
		return target.Await(t, n+1, soon)[n]
	}
	send() // the service knows the first secret by now
	s.Command(t, "accounts", "rotate-secret", a.Email, "--json")
	secrets := command(t, s, "accounts", "show", a.Email, "--json").Get("signing_secrets").Items()
	if len(secrets) != 2 || secrets[1].Str() != a.Secret {
		t.Fatalf("want the new secret and then the old one, got %d", len(secrets))
	}
	var hit harness.Hit
	harness.Eventually(t, soon, "the new secret to sign", func() bool {
		hit = send()
		wantSigned(t, hit, a.Secret)
		return verifies(t, hit, secrets[0].Str())
	})
	var versions []string
	for _, signature := range strings.Split(hit.Header.Get("Webhook-Signature"), " ") {
		version, _, _ := strings.Cut(signature, ",")
		versions = append(versions, version)
	}
	if want := []string{"v1", "v1", "v1a", "v1a"}; !slices.Equal(versions, want) {
		t.Errorf("want signatures of both secrets and of both keys, separated by spaces: got %q", versions)
	}
}

func TestSignature_TimestampIsTheTimeOfSending(t *testing.T) {
	t.Parallel()
	a := account(t)
	hit := sent(t, a.Client, "", `"schedule_in":1.5`)
	wantSigned(t, hit, a.Secret)
	at, err := time.ParseDuration(hit.Header.Get("Webhook-Timestamp") + "s")
	if err != nil {
		t.Fatal(err)
	}
	wantBetween(t, "webhook-timestamp", time.Unix(0, 0).Add(at), scheduledAt(t, hit).Add(-time.Second), hit.At)
}

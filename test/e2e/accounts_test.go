package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	punctual "github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestAccount_IsReadWithItsKey(t *testing.T) {
	t.Parallel()
	a := account(t)
	got := a.Get("/api/account").Want(200).Data()
	wantSame(t, "the account", got, `{"id":"`+a.ID+`","email":"`+a.Email+`",`+
		`"limits":{"calls_per_second":null,"pending_jobs":null,"schedules":null,"stored_bytes":null,"keys":100,"body_bytes":1048576},`+
		`"usage":{"pending_jobs":0,"schedules":0,"stored_bytes":null,"sampled_at":null},"retention_seconds":2592000,"signing_public_keys":`+
		got.Get("signing_public_keys").Raw()+`}`)
}

func TestAccount_ShowsLimitsAndRetention(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("rate-limit", "2.5"), harness.Flag("retention", "0"))
	got := s.Account(t).Get("/api/account").Want(200).Data()
	wantSame(t, "limits", got.Get("limits.calls_per_second"), "2.5")
	wantSame(t, "retention", got.Get("retention_seconds"), "null")
}

func TestAccount_RefusesThePublicKey(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Public(t)
	for _, call := range [][2]string{
		{"GET", "/api/account"}, {"GET", "/api/account/keys"}, {"POST", "/api/account/keys"}, {"DELETE", "/api/account/keys/" + noUUID},
		{"GET", "/api/account/signing-secrets"}, {"POST", "/api/account/signing-secrets/rotate"}, {"GET", "/api/account/audit"},
	} {
		c.Do(call[0], call[1], nil).WantProblem(403)
	}
	c.Get("/api/stats").Want(200)
}

func TestAccount_SigningSecretIsRotatedOverTheAPI(t *testing.T) {
	t.Parallel()
	a := account(t)
	before := a.Get("/api/account/signing-secrets").Want(200).Data()
	if len(before.Items()) != 1 || before.Get("0.secret").Str() != a.Secret {
		t.Fatalf("the secrets are %s", before.Raw())
	}
	wantSame(t, "its end", before.Get("0.expires_at"), "null")
	after := a.Post("/api/account/signing-secrets/rotate", nil).Want(200).Data()
	wantSame(t, "read again", a.Get("/api/account/signing-secrets").Want(200).Data(), after.Raw())
	if len(after.Items()) != 2 || after.Get("1.secret").Str() != a.Secret || after.Get("0.secret").Str() == a.Secret {
		t.Fatalf("the secrets are %s", after.Raw())
	}
	ends := instant(t, after.Get("1.expires_at"))
	wantBetween(t, "the end of the old one", ends, time.Now().Add(23*time.Hour), time.Now().Add(25*time.Hour))
	// Both sign from now on.
	target := harness.SharedTarget(t).Route(t)
	create(a.Client, `{"url":"`+target.URL+`"}`)
	request := target.Await(t, 1, soon)[0]
	signed := strings.Fields(request.Header.Get("webhook-signature"))
	if len(signed) != 4 {
		t.Errorf("the request is signed %q", signed)
	}
	public := a.Get("/api/account").Want(200).Data().Get("signing_public_keys").Items()
	if len(public) != 2 {
		t.Fatalf("the public keys are %v", public)
	}
	for i, key := range public {
		// The header without the signature of the other key, and without those of secrets.
		header := request.Header.Clone()
		header.Set("webhook-signature", signed[0]+" "+signed[2+i])
		v, err := punctual.NewVerifier(key.Str())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(header, request.Body); err != nil {
			t.Errorf("key %d: %v", i, err)
		}
	}
}

func TestAccount_StatisticsCountRunsByMinute(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	good, bad := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t).Respond(harness.Status(404))
	for range 3 {
		create(a.Client, `{"url":"`+good.URL+`"}`)
	}
	awaitState(t, a.Client, create(a.Client, `{"url":"`+bad.URL+`","retries":0}`), "discarded")
	var answer *harness.Answer
	if !harness.Within(soon, func() bool {
		answer = a.Get("/api/stats?minutes=5").Want(200)
		return answer.JSON.Get("total.runs").Int() == 4
	}) {
		t.Fatalf("the statistics are %s", answer.JSON.Raw())
	}
	total := answer.JSON.Get("total")
	wantSame(t, "succeeded", total.Get("succeeded"), "3")
	wantSame(t, "failed", total.Get("failed"), "1")
	for _, name := range []string{"lateness_ms.p50", "lateness_ms.p99", "duration_ms.p50", "duration_ms.p99"} {
		if ms, err := strconv.ParseFloat(total.Get(name).Raw(), 64); err != nil || ms <= 0 || ms > 60_000 {
			t.Errorf("%s is %s", name, total.Get(name).Raw())
		}
	}
	minutes := answer.Data().Items()
	if len(minutes) != 5 {
		t.Fatalf("%d minutes", len(minutes))
	}
	last := instant(t, minutes[4].Get("minute"))
	wantBetween(t, "the last minute", last, time.Now().Add(-2*time.Minute), time.Now())
	for i, m := range minutes {
		if at := instant(t, m.Get("minute")); !at.Equal(last.Add(time.Duration(i-4) * time.Minute)) {
			t.Errorf("minute %d is %s", i, at)
		}
	}
	wantSame(t, "an idle minute", minutes[0].Get("lateness_ms"), `{"p50":null,"p99":null}`)
	wantSame(t, "another's runs", other.Get("/api/stats").Want(200).JSON.Get("total.runs"), "0")
	if n := len(other.Get("/api/stats").Want(200).Data().Items()); n != 60 {
		t.Errorf("%d minutes when none are asked for", n)
	}
	if n := len(other.Get("/api/stats?minutes=1440").Want(200).Data().Items()); n != 1440 {
		t.Errorf("%d minutes of a day", n)
	}
	for _, bad := range []string{"0", "-1", "1441", "", "x", "1.5", "99999999999999999999"} {
		a.Get("/api/stats?minutes=" + bad).WantParameters("minutes")
	}
}

func TestAccount_StatisticsSurviveAStop(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+`"}`), "completed")
	if status := s.Stop(); status != 0 {
		t.Errorf("it stopped with status %d", status)
	}
	s.Restart(t)
	wantSame(t, "runs", a.Get("/api/stats").Want(200).JSON.Get("total.runs"), "1")
}

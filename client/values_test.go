package client

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"
)

func TestDuration_IsWrittenAsSecondsAndReadInBothForms(t *testing.T) {
	for d, want := range map[Duration]string{
		In(30 * time.Second): "30", Day: "86400", In(1500 * time.Millisecond): "1.5", In(time.Nanosecond): "0.000000001",
		-In(time.Second): "-1", 0: "0",
	} {
		if got, err := json.Marshal(d); err != nil || string(got) != want {
			t.Errorf("%s is written as %s, %v; want %s", d, got, err, want)
		}
	}
	for text, want := range map[string]Duration{
		"30": In(30 * time.Second), `[5,"minutes"]`: In(5 * time.Minute), `[0.5,"Day"]`: In(12 * time.Hour), `[2,"week"]`: 2 * Week,
	} {
		var got Duration
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is read as %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{`"5m"`, `[5]`, `[5,"years"]`, `["minutes",5]`, `[5,"minutes",1]`, `1e300`, `{}`} {
		var got Duration
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is read as %s", text, got)
		}
	}
}

func FuzzDuration(f *testing.F) {
	f.Add(`[5,"minutes"]`)
	f.Add("1.5")
	f.Fuzz(func(t *testing.T, text string) {
		var d, again Duration
		if json.Unmarshal([]byte(text), &d) != nil {
			return
		}
		written, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil || (again-d).abs() > 1+d.abs()>>52 {
			t.Errorf("%s became %s, then %s", text, d, again)
		}
	})
}

func (d Duration) abs() Duration { return Duration(time.Duration(d).Abs()) }

func TestTime_IsReadWithAndWithoutZone(t *testing.T) {
	for text, want := range map[string]time.Time{
		`"2023-09-01T18:25:49"`:         time.Date(2023, 9, 1, 18, 25, 49, 0, time.UTC),
		`"2023-09-01T18:26:19.707539Z"`: time.Date(2023, 9, 1, 18, 26, 19, 707539000, time.UTC),
	} {
		var got Time
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Equal(want) {
			t.Errorf("%s is read as %s, %v", text, got, err)
		}
	}
}

// The signature of Standard Webhooks' own example.
const (
	exampleSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	exampleBody      = `{"test": 2432232314}`
	exampleSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestVerifier_AcceptsOneGoodSignature(t *testing.T) {
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret of the account"))
	header := func(id, at, signature string) http.Header {
		h := http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", at)
		h.Set("webhook-signature", signature)
		return h
	}
	const at = "1614265330"
	for _, x := range []struct {
		name    string
		secrets []string
		header  http.Header
		body    string
		late    time.Duration
		want    error
	}{
		{"the example", []string{exampleSecret}, header(exampleID, at, exampleSignature), exampleBody, 0, nil},
		{"the old of two secrets", []string{other, exampleSecret}, header(exampleID, at, exampleSignature), exampleBody, 0, nil},
		{"the second of two signatures", []string{exampleSecret}, header(exampleID, at, "v1,AAAA v2,x "+exampleSignature), exampleBody, 0,
			nil},
		{"five minutes late", []string{exampleSecret}, header(exampleID, at, exampleSignature), exampleBody, 5 * time.Minute, nil},
		{"later", []string{exampleSecret}, header(exampleID, at, exampleSignature), exampleBody, 5*time.Minute + time.Second, ErrTimestamp},
		{"early", []string{exampleSecret}, header(exampleID, at, exampleSignature), exampleBody, -5*time.Minute - time.Second,
			ErrTimestamp},
		{"another secret", []string{other}, header(exampleID, at, exampleSignature), exampleBody, 0, ErrSignature},
		{"another body", []string{exampleSecret}, header(exampleID, at, exampleSignature), exampleBody + " ", 0, ErrSignature},
		{"another id", []string{exampleSecret}, header("msg_2", at, exampleSignature), exampleBody, 0, ErrSignature},
		{"another timestamp", []string{exampleSecret}, header(exampleID, "1614265331", exampleSignature), exampleBody, 0, ErrSignature},
		{"no signature", []string{exampleSecret}, header(exampleID, at, ""), exampleBody, 0, ErrSignature},
		{"no id", []string{exampleSecret}, header("", at, exampleSignature), exampleBody, 0, ErrSignature},
		{"no timestamp", []string{exampleSecret}, header(exampleID, "x", exampleSignature), exampleBody, 0, ErrSignature},
	} {
		v, err := NewVerifier(x.secrets...)
		if err != nil {
			t.Fatal(err)
		}
		v.Now = func() time.Time { return time.Unix(1614265330, 0).Add(x.late) }
		signed, err := v.Verify(x.header, []byte(x.body))
		if !errors.Is(err, x.want) || (err == nil) != (signed.ID == exampleID) {
			t.Errorf("%s: %+v, %v", x.name, signed, err)
		}
	}
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_*"}} {
		if _, err := NewVerifier(secrets...); err == nil {
			t.Errorf("%q are accepted as secrets", secrets)
		}
	}
}

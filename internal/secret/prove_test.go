package secret

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/job"
)

// TestSignAWS_AgreesWithThePublishedVectors uses requests of the test suite for SigV4
// that AWS has published.
func TestSignAWS_AgreesWithThePublishedVectors(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	credentials := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	for _, x := range []struct{ name, method, target, want string }{
		{"get-vanilla", "GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-vanilla", "POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	} {
		u, err := url.Parse("https://example.amazonaws.com" + x.target)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: x.method, URL: u, Host: u.Host, Header: http.Header{}}
		sum := sha256.Sum256(nil)
		if err := awsSigner("service").SignHTTP(t.Context(), credentials, r, hex.EncodeToString(sum[:]), "service", "us-east-1", at); err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "SignedHeaders=host;x-amz-date, Signature="+x.want) {
			t.Errorf("%s: %s, want the signature %s", x.name, got, x.want)
		}
	}
}

func TestProve_MasksTheTokenThatATargetRepeats(t *testing.T) {
	const token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl"
	w := newWorld(t, nil)
	defer w.vault.Close()
	w.vault.Token = func(c issuer.Claims) (string, error) {
		if c.Account != owner.ID || c.Audience != "https://api.example.com:8443" || c.Email != "robot@example.com" || c.Job != 17 {
			t.Errorf("the claims are %+v", c)
		}
		return token, nil
	}
	w.net.respond = func(_ context.Context, r execute.Request) job.Outcome {
		last := r.Header[len(r.Header)-1]
		if last.Name != "Authorization" || last.Value != "Bearer "+token || !r.Plain {
			t.Errorf("the request has %+v", r)
		}
		return reply(200, `{"seen":"`+last.Value+`"}`)
	}
	o := w.vault.Do(context.Background(), owner, execute.Request{Method: "GET", URL: "https://API.example.com:8443/x",
		Timeout: time.Minute},
		Proof{Auth: job.Auth{OIDC: &job.OIDCAuth{Email: "robot@example.com"}}, Claims: issuer.Claims{Job: 17}})
	if o.Response == nil || string(o.Response.Body) != `{"seen":"Bearer ***"}` {
		t.Errorf("the outcome is %+v", o)
	}
}

func TestOriginOf(t *testing.T) {
	for target, want := range map[string]string{
		"https://API.example.com/x?y": "https://api.example.com", "https://a.example:443/": "https://a.example",
		"http://a.example:80": "http://a.example", "https://[::1]:8443/a": "https://[::1]:8443",
	} {
		if got := originOf(target); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

func TestMayHold_LooksAtEverythingThatIsMasked(t *testing.T) {
	value := []string{"12345678", "x"}
	for name, o := range map[string]job.Outcome{
		"a body":      reply(200, "....12345678"),
		"a cut body":  {Response: &job.Response{Body: []byte("1234"), Truncated: true}},
		"a header":    {Response: &job.Response{Header: http.Header{"A": {"12345678"}}}},
		"a name":      {Response: &job.Response{Header: http.Header{"12345678": {""}}}},
		"the failure": {Failure: &job.Failure{Message: "12345678"}},
	} {
		if !mayHold(&o, value) {
			t.Error(name)
		}
	}
	if o := reply(200, "1234567"); mayHold(&o, value) {
		t.Error("a body that is too short")
	}
}

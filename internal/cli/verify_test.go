package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const verifySecret = "whsec_sEG9pquITP19X1/iov7XrBWVMRwYs5Ug3VtG8nL7L28="

// signed returns the headers of a message, signed by the library of Standard
// Webhooks.
func signed(t *testing.T, at time.Time, body string) http.Header {
	t.Helper()
	library, err := webhooks.NewWebhook(verifySecret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := library.Sign("msg_1", at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set("webhook-id", "msg_1")
	header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	header.Set("webhook-signature", "v1,AAAA "+signature)
	return header
}

func TestVerify_TellsWhetherASignatureIsValid(t *testing.T) {
	t.Setenv("PUNCTUAL_SIGNING_SECRET", "")
	const body = "{\"a\": 1}\n"
	directory := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", "whsec_AAAA\n"+verifySecret+"\n")
	header := func(at time.Time, body string) (args []string) {
		for name, values := range signed(t, at, body) {
			args = append(args, "-H", name+": "+values[0])
		}
		return append(args, "--secret-file", secret)
	}
	now := time.Now()
	for _, x := range []struct {
		name, input string
		args        []string
		want        int
		said        string
	}{
		{"valid", body, header(now, body), 0, "the signature of msg_1 is valid"},
		{"quiet", body, append(header(now, body), "-q"), 0, ""},
		{"body changed", body + " ", header(now, body), 1, "no signature matches"},
		{"old", body, header(now.Add(-time.Hour), body), 1, "from now, and 5m0s is allowed"},
		{"old, but allowed", body, append(header(now.Add(-time.Hour), body), "--tolerance", "0"), 0, "is valid"},
		{"no headers", body, []string{"--secret-file", secret}, 2, "the header webhook-id is missing"},
		{"timestamp", body, append(header(now, body), "-H", "webhook-timestamp: soon"), 1, "must be unix seconds"},
		{"secret", body, append(header(now, body), "--secret-file", write("wrong", "abc")), 2, "whsec_"},
		{"no secret", body, append(header(now, body), "--secret-file", write("empty", "")), 2, "there is no signing secret"},
	} {
		said := wantPlayed(t, x.input, x.want, append([]string{"verify"}, x.args...)...)
		if !strings.Contains(said, x.said) || x.said == "" && said != "" {
			t.Errorf("%s: said %q, want %q", x.name, said, x.said)
		}
	}
	var request strings.Builder
	request.WriteString("POST /hook HTTP/1.1\r\nHost: example.com\r\n")
	if err := signed(t, now, body).Write(&request); err != nil {
		t.Fatal(err)
	}
	request.WriteString("\r\n" + body)
	t.Setenv("PUNCTUAL_SIGNING_SECRET", verifySecret)
	wantPlayed(t, "", 0, "verify", "--request", write("request", request.String()))
	wantPlayed(t, "", 2, "verify", "--request", write("no-request", "nothing"))
}

package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// stolen is a secret that attackers want, put into a request by the service.
const stolen = "s3cr3t-that-nobody-shows"

// echoes responds with what the request's headers say, in the coding and the range that
// they ask for, as honest servers do.
func echoes(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text := []byte(r.Header.Get("X-Key") + " " + r.Header.Get("X-Punctual-Complete"))
		switch coding := r.Header.Get("Accept-Encoding"); {
		case strings.Contains(coding, "gzip"):
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			z := gzip.NewWriter(w)
			_, _ = z.Write(text)
			_ = z.Close()
		case r.Header.Get("Range") != "":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		default:
			w.WriteHeader(status)
			_, _ = w.Write(text)
		}
	}
}

// shows reports whether a log shows a text, as it is or in gzip and base64.
func shows(log, text string) bool {
	var payload struct {
		Payload struct{ Body any }
	}
	_ = json.Unmarshal([]byte(log), &payload)
	body := fmt.Sprint(payload.Payload.Body)
	if raw, err := base64.StdEncoding.DecodeString(body); err == nil {
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			unzipped, _ := io.ReadAll(z) // a body that is cut shows what it has
			body = string(unzipped)
		}
	}
	return strings.Contains(log, text) || strings.Contains(body, text)
}

// thieves are strangers with a key of the scope jobs or read, who read secrets and
// tokens back from what the service stores.
type thieves struct {
	t      *testing.T
	owner  *harness.Account
	jobs   *harness.Client // may create jobs that name secrets, but not see these
	reader *harness.Client
}

func newThieves(t *testing.T) *thieves {
	t.Helper()
	s := harness.Start(t, harness.SecretsKey(t), harness.Flag("public-url", "https://punctual.example.com"))
	th := &thieves{t: t, owner: s.Account(t)}
	_, jobs := s.NewKey(t, th.owner.Email, "--scope", "jobs")
	_, reads := s.NewKey(t, th.owner.Email, "--scope", "read")
	th.jobs, th.reader = s.Client(t, jobs), s.Client(t, reads)
	th.owner.Do(http.MethodPut, "/api/secrets/k", `{"value":"`+stolen+`","hosts":["127.0.0.1"]}`).Want(http.StatusCreated)
	return th
}

// logsOf creates a job and returns its logs when it is final or awaits its completion.
func (th *thieves) logsOf(body string) []harness.JSON {
	th.t.Helper()
	job := th.jobs.Post("/api/jobs", body).Want(http.StatusCreated).Data()
	path := "/api/logs?job_id=" + job.Get("job_id").Raw()
	var logs []harness.JSON
	harness.Eventually(th.t, 20*time.Second, "the response to be stored", func() bool {
		logs = th.reader.Get(path).Want(http.StatusOK).Data().Items()
		return len(logs) > 1
	})
	return logs
}

func TestThieves_ReadNoSecretsBack(t *testing.T) {
	t.Parallel()
	th := newThieves(t)
	target := harness.SharedTarget(t).Route(t).Respond(echoes(http.StatusOK))
	for _, asked := range []string{`"accept-encoding":"gzip"`, `"Accept-Encoding":["identity;q=0","gzip"]`,
		`"ACCEPT-ENCODING":"x-gzip, gzip;q=0.5"`, `"a-im":"gzip"`} {
		for _, log := range th.logsOf(`{"url":"` + target.URL + `","retries":0,"headers":{"x-key":"{{secret.k}}",` + asked + `}}`) {
			if shows(log.Raw(), stolen) {
				t.Errorf("with %s a log shows the secret: %s", asked, log.Raw())
			}
		}
	}
	// Some bytes at a time.
	parts := 0
	for i := 0; i < len(stolen); i += 4 {
		logs := th.logsOf(fmt.Sprintf(`{"url":"%s","retries":0,"headers":{"x-key":"{{secret.k}}","range":"bytes=%d-%d"}}`, target.URL, i,
			i+3))
		for _, log := range logs {
			if body := log.Get("payload.body").Str(); body == stolen[i:min(i+4, len(stolen))] {
				parts++
			}
		}
	}
	if parts > 0 {
		t.Errorf("ranges read %d parts of the secret", parts)
	}
}

func TestThieves_GetNoTokensOfCompletions(t *testing.T) {
	t.Parallel()
	th := newThieves(t)
	target, other := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	for _, asked := range []string{`"a":"b"`, `"accept-encoding":"gzip"`, `"range":"bytes=1-"`} {
		target.Respond(echoes(http.StatusAccepted))
		before := len(target.Hits())
		logs := th.logsOf(`{"url":"` + target.URL + `","retries":0,"completion":{"within":600},"headers":{` + asked + `}}`)
		address := target.Hits()[before].Header.Get("X-Punctual-Complete")
		token := address[strings.LastIndex(address, "/")+1:]
		for _, log := range logs {
			if token == "" || shows(log.Raw(), token) {
				t.Errorf("with %s a log shows the token %q: %s", asked, token, log.Raw())
			}
		}
	}
	// A target that redirects hands on what it gets; the service must not.
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	for _, status := range []int{301, 302, 303, 307, 308} {
		target.Respond(harness.Redirect(status, elsewhere))
		th.logsOf(`{"url":"` + target.URL + `","method":"post","retries":0,"completion":{"within":600}}`)
	}
	hits := other.Hits()
	if len(hits) != 5 {
		t.Errorf("%d redirects were followed", len(hits))
	}
	for _, hit := range hits {
		if got := hit.Header.Get("X-Punctual-Complete"); got != "" {
			t.Errorf("another origin received %s", got)
		}
	}
}

var secretAttacks = []attack{
	{"secrets of 8 KB that awaited attempts keep", func(ctx context.Context, s *strike) {
		key := s.own()
		for i := range 7 {
			body := fmt.Sprintf(`{"value":"%d%s","hosts":["127.0.0.1"]}`, i, fill("s", 8*kib-2))
			s.call(put, fmt.Sprintf("/api/secrets/s%d", i), key, []byte(body))
		}
		headers := strings.Builder{}
		for i := range 7 {
			fmt.Fprintf(&headers, `,"x-%d":"{{secret.s%d}}"`, i, i)
		}
		url := s.serve(ctx, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
		s.flood(ctx, 16, func(int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","retries":0,"completion":{"within":600},"headers":{"a":"b"%s}`, url, headers.String()))
		})
	}},
	{"bodies of secrets that are no secrets", func(ctx context.Context, s *strike) {
		key := s.own()
		bodies := []string{`{"` + fill("n", 900*kib) + `":1}`, `{` + members(50_000, `"m%d":1`) + `}`,
			`{"value":"v","hosts":` + list(`"a"`, 100_000) + `}`, nested("[", "", "]", 400_000)}
		s.flood(ctx, 8, func(n int) { s.call(put, "/api/secrets/k", key, []byte(bodies[n%len(bodies)])) })
	}},
}
